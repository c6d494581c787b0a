//! Certificates as PEM text (RFC 7468).

/// One certificate, from its DER.
pub fn certificate(der: &[u8]) -> String {
    let mut text = String::with_capacity(der.len() * 4 / 3 + 64);
    text.push_str("-----BEGIN CERTIFICATE-----\n");
    // 48 bytes make one line of 64 characters.
    for line in der.chunks(48) {
        for group in line.chunks(3) {
            push(group, &mut text);
        }
        text.push('\n');
    }
    text.push_str("-----END CERTIFICATE-----\n");
    text
}

/// One to three bytes as four characters (RFC 4648 §4).
fn push(group: &[u8], text: &mut String) {
    let byte = |index: usize| u32::from(group.get(index).copied().unwrap_or(0));
    let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
    for place in 0..4 {
        let index = (bits >> (18 - 6 * place)) & 63;
        let padding = place > group.len();
        text.push(if padding { '=' } else { char::from(ALPHABET[index as usize]) });
    }
}

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

#[cfg(test)]
mod tests {
    use super::*;
    use rustls::pki_types::CertificateDer;
    use rustls::pki_types::pem::PemObject;

    #[test]
    fn a_reader_gets_back_the_same_bytes_whatever_their_number() {
        for length in 1..200 {
            let der: Vec<u8> = (0..length).map(|n| (n * 37 % 256) as u8).collect();
            let text = certificate(&der);
            assert_eq!(&*CertificateDer::from_pem_slice(text.as_bytes()).unwrap(), &*der);
            assert!(text.lines().all(|line| line.len() <= 64));
        }
    }
}
