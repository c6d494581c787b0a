// handshake PORT CA NAME…: Go's TLS client through the proxy, with our CA as its only root.
package main

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"os"
)

func shake(port, name string, roots *x509.CertPool) error {
	road, err := net.Dial("tcp", "127.0.0.1:"+port)
	if err != nil {
		return err
	}
	defer road.Close()
	target := net.JoinHostPort(name, "443")
	fmt.Fprintf(road, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", target, target)
	answer, err := http.ReadResponse(bufio.NewReader(road), nil)
	if err != nil {
		return err
	}
	if answer.StatusCode != 200 {
		return fmt.Errorf("CONNECT: %s", answer.Status)
	}
	return tls.Client(road, &tls.Config{ServerName: name, RootCAs: roots}).Handshake()
}

func main() {
	pem, err := os.ReadFile(os.Args[2])
	roots := x509.NewCertPool()
	if err != nil || !roots.AppendCertsFromPEM(pem) {
		panic("no CA")
	}
	for _, name := range os.Args[3:] {
		if err := shake(os.Args[1], name, roots); err != nil {
			fmt.Println(name, err)
			continue
		}
		fmt.Println("ok", name)
	}
}
