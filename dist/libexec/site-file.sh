# shellcheck shell=bash
# Writing site files from scripts. Sourced, never run.

# site_file FILE NAME VALUE...: a site file with these properties.
site_file() {
    local file=$1 value
    shift
    {
        echo '<configuration>'
        while [ $# -gt 0 ]; do
            value=$2
            if [[ $value == *[\&\<\>]* ]]; then value=$(sed -e 's/&/\&amp;/g' -e 's/</\&lt;/g' -e 's/>/\&gt;/g' <<<"$value"); fi
            printf '<property><name>%s</name><value>%s</value></property>\n' "$1" "$value"
            shift 2
        done
        echo '</configuration>'
    } >"$file"
}
