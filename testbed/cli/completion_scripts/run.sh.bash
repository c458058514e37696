_ncp_testbed() {
    local IFS=$'\n'
    COMPREPLY=($(NCP_TESTBED_NO_SETUP=1 "$1" completion bash -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
    [[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace
    return 0
}
complete -o default -o nosort -F _ncp_testbed run.sh
