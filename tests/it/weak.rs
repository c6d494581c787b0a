//! An origin with a key of its own that is too short: a chain that holds, and a handshake that does not.
//! No library of ours signs with such a key, so OpenSSL serves.

use crate::world::authority::Authority;
use crate::world::door::closed_port;
use crate::world::folder::Folder;
use crate::world::proxy::World;
use crate::world::{unchecked, until};
use rcgen::{CertificateParams, SubjectPublicKeyInfo};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};

/// `openssl s_server`, killed when dropped.
struct Server {
    child: Child,
    address: SocketAddr,
}

impl Server {
    fn start(folder: &Folder, version: &str) -> Server {
        let address = closed_port();
        let file = |name: &str| folder.path().join(name);
        let mut command = Command::new("openssl");
        command.args(["s_server", "-quiet", "-www", version, "-cipher", "DEFAULT@SECLEVEL=0"]);
        command.arg("-accept").arg(address.to_string());
        command.arg("-cert").arg(file("leaf.pem")).arg("-key").arg(file("leaf.key"));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().expect("it was there a moment ago");
        let server = Server { child, address };
        until(|| TcpStream::connect(address).ok()).expect("it listens");
        server
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

fn openssl(arguments: &[&str], folder: &Folder) -> Option<()> {
    let mut command = Command::new("openssl");
    command.args(arguments).current_dir(folder.path());
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.status().ok().filter(|status| status.success()).map(drop)
}

/// A leaf for `shop.test` with an RSA key of so many bits, in a folder; `None` without OpenSSL.
fn leaf(authority: &Authority, bits: &str) -> Option<Folder> {
    let folder = Folder::new();
    openssl(&["genrsa", "-out", "leaf.key", bits], &folder)?;
    openssl(&["rsa", "-in", "leaf.key", "-pubout", "-out", "leaf.pub"], &folder)?;
    let public = std::fs::read_to_string(folder.path().join("leaf.pub")).ok()?;
    let public = SubjectPublicKeyInfo::from_pem(&public).expect("an RSA key as PEM");
    let params = CertificateParams::new(vec!["shop.test".to_owned()]).expect("a valid name");
    folder.write("leaf.pem", &authority.vouch(&params, &public));
    Some(folder)
}

#[test]
fn a_leaf_with_an_rsa_key_of_1024_bits_is_refused_in_either_version_of_tls() {
    let authority = Authority::new();
    for (bits, status) in [("1024", 502), ("2048", 200)] {
        let Some(folder) = leaf(&authority, bits) else {
            return unchecked("there is no openssl");
        };
        for version in ["-tls1_2", "-tls1_3"] {
            let server = Server::start(&folder, version);
            let roots = authority.file().display();
            let config = format!("tls: {{roots: {roots}}}\nresolve: {{shop.test: 127.0.0.1}}\n");
            let world = World::start(&config);
            let mut client = world.tunnel(&format!("shop.test:{}", server.address.port()));
            client.send("GET / HTTP/1.1\r\nHost: shop.test\r\nPace-Retry: 0\r\n\r\n");
            let answer = client.response();
            assert_eq!(answer.status, status, "{bits} {version}: {}", answer.text());
            let why = answer.header("proxy-status").unwrap_or_default();
            assert_eq!(why.contains("of a key that is too short"), status == 502, "{why}");
        }
    }
}
