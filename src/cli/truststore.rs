//! A truststore for Java, where there is a Java: its own roots and our CA.

use crate::cli::env::Files;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;
use tokio::process::Command;

/// Makes `truststore.jks` beside the CA, unless it is there and newer than the CA. `None`: there is
/// no Java on `search` (the value of PATH), or its keytool failed or took longer than 15 s; then
/// Java programs are not helped, and nothing else suffers.
pub async fn make(files: &Files, search: &str) -> Option<PathBuf> {
    let java = find("java", search)?;
    let keytool = find("keytool", search).or_else(|| beside(&java))?;
    let store = files.ca.with_file_name("truststore.jks");
    if is_fresh(&store, &files.ca) {
        return Some(store);
    }
    let fresh = files.ca.with_file_name(format!(".truststore.{}", std::process::id()));
    let _ = tokio::fs::remove_file(&fresh).await;
    if let Some(roots) = own_roots(&java) {
        // Without them only intercepted names are trusted, which is all that most need.
        let _ = tokio::fs::write(&fresh, tokio::fs::read(roots).await.unwrap_or_default()).await;
    }
    let made = import(&keytool, &fresh, &files.ca).await;
    let placed = made && tokio::fs::rename(&fresh, &store).await.is_ok();
    let _ = tokio::fs::remove_file(&fresh).await;
    placed.then_some(store)
}

async fn import(keytool: &Path, store: &Path, ca: &Path) -> bool {
    let mut command = Command::new(keytool);
    command
        .args(["-importcert", "-noprompt", "-trustcacerts", "-alias", "pacegate"])
        .args(["-storepass", PASSWORD, "-keystore"])
        .arg(store)
        .arg("-file")
        .arg(ca)
        .env_remove("JAVA_TOOL_OPTIONS")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true);
    let status = tokio::time::timeout(PATIENCE, command.status()).await;
    status.is_ok_and(|status| status.is_ok_and(|status| status.success()))
}

fn is_fresh(store: &Path, ca: &Path) -> bool {
    let changed = |path: &Path| std::fs::metadata(path).and_then(|data| data.modified()).ok();
    matches!((changed(store), changed(ca)), (Some(store), Some(ca)) if store >= ca)
}

fn find(name: &str, search: &str) -> Option<PathBuf> {
    let name = format!("{name}{}", std::env::consts::EXE_SUFFIX);
    std::env::split_paths(search).map(|folder| folder.join(&name)).find(|path| path.is_file())
}

fn beside(java: &Path) -> Option<PathBuf> {
    let name = format!("keytool{}", std::env::consts::EXE_SUFFIX);
    Some(java.canonicalize().ok()?.with_file_name(name)).filter(|path| path.is_file())
}

/// Java's roots: two levels above its program, in the place of Java 9 and later, or of Java 8.
fn own_roots(java: &Path) -> Option<PathBuf> {
    let program = java.canonicalize().ok()?;
    let home = program.parent()?.parent()?;
    let places = ["lib/security/cacerts", "jre/lib/security/cacerts"];
    places.iter().map(|place| home.join(place)).find(|path| path.is_file())
}

/// Java's own for its roots: nothing in the store is secret.
const PASSWORD: &str = "changeit";
/// A keytool is a JVM; on a busy machine it takes seconds.
const PATIENCE: Duration = Duration::from_secs(15);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::testing::Folder;

    #[tokio::test]
    async fn without_a_java_there_is_no_store() {
        let folder = Folder::new();
        let ca = folder.file("ca.pem", "");
        let search = ca.parent().unwrap().to_string_lossy().into_owned();
        assert_eq!(make(&Files::beside(&ca), &search).await, None);
    }

    /// Programs of the system stand in: a file that was just written may still be open for
    /// writing in a child of another test, and can't be run then.
    #[cfg(unix)]
    #[tokio::test]
    async fn a_keytool_is_asked_once_for_one_ca() {
        let folder = Folder::new();
        let ca = folder.file("ca.pem", "the CA");
        let java = folder.file("jdk/bin/java", "");
        folder.file("jdk/lib/security/cacerts", "the roots of Java");
        let keytool = java.with_file_name("keytool");
        let stand_in = |program: &str| {
            let _ = std::fs::remove_file(&keytool);
            std::os::unix::fs::symlink(find(program, "/usr/bin:/bin").unwrap(), &keytool).unwrap();
        };
        let search = java.parent().unwrap().to_string_lossy().into_owned();
        stand_in("false");
        assert_eq!(make(&Files::beside(&ca), &search).await, None);
        stand_in("true");
        let store = make(&Files::beside(&ca), &search).await.unwrap();
        assert_eq!(std::fs::read_to_string(&store).unwrap(), "the roots of Java");
        stand_in("false");
        assert_eq!(make(&Files::beside(&ca), &search).await, Some(store));
    }
}
