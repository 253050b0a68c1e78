#!/bin/sh
# Installs the header, the libraries and the file for pkg-config.
#
#   crates/c/install.sh PREFIX [FOLDER]     FOLDER holds the libraries: target/release
set -eu
prefix=${1:?the folder to install to, /usr/local for example}
here=$(dirname "$0")
built=${2:-$here/../../target/release}
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' "$here/../../Cargo.toml")
mkdir -p "$prefix/include" "$prefix/lib/pkgconfig"
cp "$here/include/motet.h" "$prefix/include/"
cp "$built/libmotet.so" "$built/libmotet.a" "$prefix/lib/"
sed "s|@prefix@|$prefix|; s|@version@|$version|" "$here/motet.pc.in" >"$prefix/lib/pkgconfig/motet.pc"
