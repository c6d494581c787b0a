#!/bin/sh
# Makes the chains in this folder, whose signatures no library of today makes. Run it in here; it
# needs OpenSSL 3. All keys but the servers' (server.key) are thrown away. Everything is valid for a
# hundred years, so that a signature is all there is to say against a chain.
set -eu
days=36500
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
leaf_fields="subjectAltName=DNS:shop.test
extendedKeyUsage=serverAuth"
printf '%s\n' "$leaf_fields" > "$work/leaf.cnf"
printf 'basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign\n' > "$work/ca.cnf"

# root.pem: RSA with 2048 bits, sound.
openssl req -x509 -newkey rsa:2048 -nodes -keyout "$work/root.key" -out root.pem -sha256 \
    -days $days -subj "/CN=a test's sound root"
# server.key: P-256, the key of every leaf but one.
openssl ecparam -name prime256v1 -genkey -noout | openssl pkcs8 -topk8 -nocrypt -out server.key
openssl req -new -key server.key -subj "/CN=shop.test" -out "$work/leaf.csr"

sign() { # digest, issuer's certificate and key, request, extensions, output
    openssl x509 -req -in "$4" -"$1" -CA "$2" -CAkey "$3" -days $days -extfile "$5" \
        -set_serial "0x$(openssl rand -hex 8)" -out "$6"
}
# sha1.pem and md5.pem: leaves signed with a digest that is broken.
sign sha1 root.pem "$work/root.key" "$work/leaf.csr" "$work/leaf.cnf" sha1.pem
sign md5 root.pem "$work/root.key" "$work/leaf.csr" "$work/leaf.cnf" md5.pem
# short.pem: a leaf, and its issuer with an RSA key of 1024 bits.
openssl req -new -newkey rsa:1024 -nodes -keyout "$work/short.key" -out "$work/short.csr" \
    -subj "/CN=an issuer with a short key"
sign sha256 root.pem "$work/root.key" "$work/short.csr" "$work/ca.cnf" "$work/short.pem"
sign sha256 "$work/short.pem" "$work/short.key" "$work/leaf.csr" "$work/leaf.cnf" "$work/end.pem"
cat "$work/end.pem" "$work/short.pem" > short.pem
# good.pem: the same root, nothing wrong.
sign sha256 root.pem "$work/root.key" "$work/leaf.csr" "$work/leaf.cnf" good.pem
