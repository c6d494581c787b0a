// Handshake PORT CA NAME…: Java's TLS client through the proxy, with our CA as its only root.

import java.io.FileInputStream;
import java.io.InputStream;
import java.net.Socket;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.TrustManagerFactory;

public class Handshake {
    public static void main(String[] words) throws Exception {
        KeyStore roots = KeyStore.getInstance(KeyStore.getDefaultType());
        roots.load(null, null);
        try (InputStream pem = new FileInputStream(words[1])) {
            roots.setCertificateEntry(
                    "ca", CertificateFactory.getInstance("X.509").generateCertificate(pem));
        }
        TrustManagerFactory trust = TrustManagerFactory.getInstance("PKIX");
        trust.init(roots);
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(null, trust.getTrustManagers(), null);
        for (int at = 2; at < words.length; at++) {
            try {
                shake(context, Integer.parseInt(words[0]), words[at]);
                System.out.println("ok " + words[at]);
            } catch (Exception fault) {
                System.out.println(words[at] + " " + fault);
            }
        }
    }

    static void shake(SSLContext context, int port, String name) throws Exception {
        String host = name.contains(":") ? "[" + name + "]" : name;
        try (Socket road = new Socket("127.0.0.1", port)) {
            String ask = "CONNECT " + host + ":443 HTTP/1.1\r\nHost: " + host + ":443\r\n\r\n";
            road.getOutputStream().write(ask.getBytes("US-ASCII"));
            StringBuilder answer = new StringBuilder();
            while (answer.indexOf("\r\n\r\n") < 0) {
                int next = road.getInputStream().read();
                if (next < 0) {
                    throw new Exception("CONNECT: " + answer);
                }
                answer.append((char) next);
            }
            SSLSocket tls = (SSLSocket) context.getSocketFactory().createSocket(road, name, 443, true);
            SSLParameters parameters = tls.getSSLParameters();
            // HttpsURLConnection's own rule for names.
            parameters.setEndpointIdentificationAlgorithm("HTTPS");
            tls.setSSLParameters(parameters);
            tls.startHandshake();
        }
    }
}
