_ncp_testbed() {
    local -a found open closed
    found=("${(@f)$(NCP_TESTBED_NO_SETUP=1 ${~words[1]} completion zsh -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    open=(${(M)found:#*=})
    closed=(${found:#*=})
    ((${#open})) && compadd -S '' -a open
    ((${#closed})) && compadd -a closed
    ((${#open} + ${#closed})) || _files
}
(($+functions[compdef])) || { autoload -Uz compinit && compinit; }
compdef _ncp_testbed run.sh
