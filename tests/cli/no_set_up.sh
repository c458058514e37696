#!/usr/bin/env bash
# no_set_up.sh RUN_SH OTHER: by the script that the one prints, how many words the other offers.
# shellcheck disable=SC2034 # what a completing shell sets
set -u
# shellcheck disable=SC1090
source <("$1" completion bash)
COMP_WORDS=(run.sh sta) COMP_CWORD=1 COMPREPLY=()
compopt() { :; }
_ncp_testbed "$2"
echo "${#COMPREPLY[@]}"
