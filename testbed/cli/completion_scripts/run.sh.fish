function __ncp_testbed
    set -l typed (commandline -opc)
    NCP_TESTBED_NO_SETUP=1 $typed[1] completion fish -- $typed[2..-1] (commandline -ct) 2>/dev/null
end
complete --command run.sh --no-files --arguments '(__ncp_testbed)'
complete --command run.sh --condition 'test -z (__ncp_testbed | string collect)' --force-files
