# shellcheck shell=bash
# What packages are made from: a source tarball for each component, out of the distribution tree, and the bom as
# packages see it. Bigtop's tasks take the same files (packages/build.gradle). Sourced by ci/deb and ci/rpm.

PACKAGES_BUILD=$HOWDAH_BUILD/packages
SOURCES=$PACKAGES_BUILD/dl
COMPONENTS=(howdah hadoop spark conf-templates slurm-pbs)

# Paths of the tree, as find -path takes them. Whatever neither engine nor Spark claims is Hadoop's.
engine_paths=(RELEASE LICENSE NOTICE bin/howdah libexec/functions.sh libexec/java.sh libexec/native.sh
    libexec/howdah-{conf,doctor,perf,stat,topo,tune}
    'etc/bash_completion.d/*')
spark_paths=('bin/beeline' 'bin/pyspark' 'bin/run-example' 'bin/spark-*' 'sbin/*-history-server.sh' 'sbin/*-master.sh'
    'sbin/*-slave.sh' 'sbin/*-thriftserver.sh' 'libexec/spark*' 'etc/spark/*' 'jars/*' 'python/*' 'examples/*' 'data/*'
    'share/licenses/spark/*' 'share/spark/*')
templates_paths=('share/conf-templates/*' libexec/howdah-template)
batch_paths=('share/slurm-pbs/*' libexec/howdah-job libexec/howdah-cost)
# Made anew for each architecture by the component itself; a link that the component makes; for those without packages.
not_packed=('lib/native/*' 'include/*' 'libexec/native/*' 'conf' 'share/modulefiles/*')

# component_files COMPONENT: its files and links of the tree, which is the working folder, one a line.
component_files() {
    local path engine=() spark=() templates=() batch=() never=()
    for path in "${engine_paths[@]}"; do engine+=(-o -path "./$path"); done
    for path in "${spark_paths[@]}"; do spark+=(-o -path "./$path"); done
    for path in "${templates_paths[@]}"; do templates+=(-o -path "./$path"); done
    for path in "${batch_paths[@]}"; do batch+=(-o -path "./$path"); done
    for path in "${not_packed[@]}"; do never+=(-o -path "./$path"); done
    case $1 in
        howdah) find . ! -type d \( "${engine[@]:1}" \) ;;
        spark) find . ! -type d \( "${spark[@]:1}" \) ;;
        conf-templates) find . ! -type d \( "${templates[@]:1}" \) ;;
        slurm-pbs) find . ! -type d \( "${batch[@]:1}" \) ;;
        hadoop) find . ! -type d ! \( "${engine[@]:1}" "${spark[@]}" "${templates[@]}" "${batch[@]}" "${never[@]}" \) ;;
    esac | LC_ALL=C sort
}

# one_at_a_time: two builds of packages in one clone would be in each other's way.
one_at_a_time() {
    mkdir -p "$PACKAGES_BUILD"
    exec 9>"$PACKAGES_BUILD/.lock"
    flock -n 9 || die "another build of packages is at work in this clone" "wait for it to end"
}

# package_epoch: the time that all files of packages carry: that of the commit.
package_epoch() {
    [ -z "${SOURCE_DATE_EPOCH:-}" ] || { echo "$SOURCE_DATE_EPOCH"; return; }
    git -C "$HOWDAH_ROOT" log -1 --format=%ct 2>/dev/null | grep . || echo 1480000000
}

# package_release: BIGTOP_BUILD_STAMP, as Bigtop names it, or the release of the bom. One for all components.
package_release() {
    local release=${BIGTOP_BUILD_STAMP:-$HOWDAH_RELEASE}
    [[ $release =~ ^[0-9][0-9A-Za-z.~]*$ ]] || die "BIGTOP_BUILD_STAMP=$release is no release of a package" "use a number, like 2"
    echo "$release"
}

# variable_of COMPONENT WORD: the name of what the bom says of it, as HADOOP_VERSION.
variable_of() { local name=${1^^}_$2; echo "${name//-/_}"; }

component_version() {
    local name
    name=$(variable_of "$1" VERSION)
    echo "${!name}"
}

# component_bom: the versions, as debian/bigtop.bom and SOURCES/bigtop.bom have them.
component_bom() {
    local component
    for component in "${COMPONENTS[@]}"; do echo "$(variable_of "$component" VERSION)=$(component_version "$component")"; done
    printf 'JDK_VERSION=%s\nSCALA_VERSION=%s\n' "$JDK_VERSION" "$SCALA_VERSION"
}

# make_source COMPONENT: its tarball, unless it is there and newer than all it is made of.
make_source() {
    local component=$1 tree=$HOWDAH_BUILD/dist/howdah-$HOWDAH_VERSION version top work commands=() file
    version=$(component_version "$component")
    top=$component-$version work=$PACKAGES_BUILD/source-$component
    rm -rf "$work"
    mkdir -p "$work/$top/packaging"
    local into=$work/$top
    [ "$component" != howdah ] || into+=/tree
    mkdir -p "$into"
    (cd "$tree" && component_files "$component" | tar -cf - --files-from=-) | tar -xf - -C "$into"
    if [ -d "$into/bin" ]; then
        for file in "$into"/bin/*; do commands+=("${file##*/}"); done
        "$HOWDAH_ROOT/packages/shared/make-man" "$tree" "$work/$top/man" "${commands[@]}"
    fi
    # The configuration of howdah-hadoop-conf-pseudo is the template of that name.
    [ "$component" != hadoop ] || "$tree/bin/howdah" template write "$work/$top/packaging/pseudo" pseudo
    # HTML of the documents is in howdah-doc.
    [ "$component" != hadoop ] || cp -R "$HOWDAH_BUILD/docs" "$work/$top/packaging/html"
    cp "$HOWDAH_ROOT"/packages/shared/{make-services,init-body.sh,make-alternatives,account} "$work/$top/packaging/"
    if [ "$component" = howdah ]; then
        (cd "$HOWDAH_ROOT" && git ls-files -z --cached --others --exclude-standard native | grep -zv '^native/\(test\|fuzz\)/' |
            tar --null -cf - --files-from=-) | tar -xf - -C "$work/$top"
    fi
    chmod -R u=rwX,go=rX "$work/$top"
    tar -C "$work" --sort=name --format=gnu --mtime="@$(package_epoch)" --owner=0 --group=0 --numeric-owner -cf - "$top" |
        gzip -n -1 >"$SOURCES/$top.tar.gz.new"
    mv -f "$SOURCES/$top.tar.gz.new" "$SOURCES/$top.tar.gz"
    rm -rf "$work"
}

# make_sources: the tarballs of all components, when the tree or what packs them has changed.
make_sources() {
    local tree=$HOWDAH_BUILD/dist/howdah-$HOWDAH_VERSION component now
    [ -e "$tree/RELEASE" ] || die "the distribution was not built: there is no $tree/RELEASE" "run: make dist"
    mkdir -p "$SOURCES"
    now=$(cd "$HOWDAH_ROOT" && { package_epoch; cat "$HOWDAH_BUILD/dist/.stamp"
        git ls-files -z --cached --others --exclude-standard native packages/shared ci/lib/package-sources.sh docs ci/docs ci/lib/docs-theme |
            xargs -0 sha256sum; } 2>&1 | sha256sum)
    [ "$(cat "$SOURCES/.stamp" 2>/dev/null)" != "$now" ] || return 0
    SOURCE_DATE_EPOCH=$(package_epoch)
    export SOURCE_DATE_EPOCH
    "$HOWDAH_ROOT/ci/docs"
    for component in "${COMPONENTS[@]}"; do make_source "$component"; done
    echo "$now" >"$SOURCES/.stamp"
}
