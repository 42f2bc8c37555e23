#!/bin/sh
# Makes the certificate and the key of this folder: for localhost, signed by itself, and for nothing
# but tests. They last a hundred years.
set -eu
cd "$(dirname "$0")"
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 36500 \
    -subj /CN=localhost -addext basicConstraints=critical,CA:false \
    -addext subjectAltName=DNS:localhost,IP:127.0.0.1,IP:::1 \
    -keyout localhost.key -out localhost.crt
