//! What TLS says against an origin, in words: `fault` asks.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "others' enums, which grow: what has no words of ours is told in its own"
)]

use crate::judge::outcome::FaultKind;
use rustls::{AlertDescription, CertificateError, OtherError};

/// What kind of fault an error of TLS is.
pub fn tls_kind(error: &rustls::Error) -> FaultKind {
    match error {
        rustls::Error::InvalidCertificate(_) | rustls::Error::NoCertificatesPresented => {
            FaultKind::Certificate(tls_text(error))
        }
        rustls::Error::AlertReceived(_) => FaultKind::TlsAlert(tls_text(error)),
        _other => FaultKind::Tls(tls_text(error)),
    }
}

/// What went wrong, for people.
pub fn tls_text(error: &rustls::Error) -> String {
    match error {
        rustls::Error::InvalidCertificate(why) => certificate_text(why),
        rustls::Error::NoCertificatesPresented => "the origin showed no certificate".into(),
        rustls::Error::AlertReceived(alert) => alert_text(*alert),
        rustls::Error::InvalidMessage(_) => "the origin does not speak TLS here".into(),
        rustls::Error::PeerIncompatible(why) => {
            format!("the origin has no version or cipher that is still safe ({why:?})")
        }
        other => other.to_string(),
    }
}

fn certificate_text(why: &CertificateError) -> String {
    match why {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "its certificate has expired".into()
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "its certificate is not valid yet".into()
        }
        CertificateError::UnknownIssuer => {
            "its certificate is signed by nobody trusted here, or an intermediate is missing".into()
        }
        CertificateError::NotValidForNameContext { presented, .. } if presented.is_empty() => {
            "its certificate has no host's name in it (a subject's is not read)".into()
        }
        CertificateError::NotValidForNameContext { presented, .. } if presented.len() <= 4 => {
            // They come as `DnsName("shop.example")`.
            let names = presented.iter().map(|name| name.split('"').nth(1).unwrap_or(name));
            format!("its certificate is for other names ({})", names.collect::<Vec<_>>().join(", "))
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "its certificate is for other names".into()
        }
        CertificateError::Revoked => "its certificate was revoked".into(),
        CertificateError::BadSignature => {
            "its certificate's signature is wrong, or of a key that is too short".into()
        }
        CertificateError::BadEncoding => "its certificate can't be read".into(),
        CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => {
            "its certificate is not one for servers".into()
        }
        CertificateError::UnsupportedSignatureAlgorithmContext { .. }
        | CertificateError::UnsupportedSignatureAlgorithmForPublicKeyContext { .. } => {
            "its certificate is signed in a way that is no longer safe".into()
        }
        CertificateError::Other(OtherError(why)) => other_text(&why.to_string()),
        other => format!("its certificate does not hold ({other})"),
    }
}

/// What the library has no error of its own for comes as the name of the verifier's.
fn other_text(why: &str) -> String {
    match why {
        "CaUsedAsEndEntity" => "its certificate is an authority's, not a server's".into(),
        "EndEntityUsedAsCa" => "its certificate is signed by one that is no authority's".into(),
        "NameConstraintViolation" => "its certificate's issuer may not sign for this name".into(),
        "PathLenConstraintViolated" => "its certificate's chain is longer than it may be".into(),
        "UnsupportedCertVersion" => "its certificate is older than version 3 of X.509".into(),
        other => format!("its certificate does not hold ({other})"),
    }
}

fn alert_text(alert: AlertDescription) -> String {
    match alert {
        AlertDescription::CertificateRequired => "the origin wants a client certificate".into(),
        AlertDescription::UnrecognisedName => "the origin does not know the name".into(),
        AlertDescription::HandshakeFailure => "the origin refused the handshake".into(),
        AlertDescription::ProtocolVersion => "the origin wants another version of TLS".into(),
        other => format!("the origin sent the alert {other:?}"),
    }
}
