// What `sacct --help` prints.
#include "cli/sacct_options.h"

namespace minke::cli {
namespace {

constexpr const char* kHelp =
    "sacct [<OPTION>]\n"
    "    Valid <OPTION> values are:\n"
    "  -A, --accounts=list       jobs of these accounts\n"
    "  -a, --allusers            jobs of all users\n"
    "  -b, --brief               only job id, state and exit code\n"
    "  -C, --constraints=list    jobs that asked for all of these features\n"
    "  -M, --clusters=list       jobs of these clusters; there is one\n"
    "  -B, --batch-script        the script of the jobs named with -j\n"
    "  -D, --duplicates          also earlier runs of requeued jobs\n"
    "      --delimiter=text      between the fields of -p and -P\n"
    "  -E, --endtime=time        jobs before this time\n"
    "  -e, --helpformat          the fields of --format\n"
    "  -g, --gid, --group=list   jobs of these groups\n"
    "  -I, --ncpus=N[-M]         jobs of so many CPUs\n"
    "  -i, --nnodes=N[-M]        jobs of so many nodes\n"
    "  -j, --jobs=list           these jobs and steps\n"
    "  -K, -k, --timelimit-max, --timelimit-min=time\n"
    "  -l, --long                many fields\n"
    "  -N, --nodelist=hostlist   jobs that ran on these nodes\n"
    "      --name=list           jobs of these names\n"
    "      --noconvert           2048M, not 2G\n"
    "  -n, --noheader            no header\n"
    "  -o, --format=fields       name[%width],...\n"
    "  -P, --parsable2           fields with | between them\n"
    "  -p, --parsable            fields with | behind each\n"
    "  -q, --qos=list            jobs of these QOS\n"
    "  -r, --partition=list      jobs of these partitions\n"
    "  -S, --starttime=time      jobs after this time\n"
    "  -s, --state=list          jobs in these states at that time\n"
    "  -T, --truncate            cut times to the window\n"
    "  -u, --uid, --user=list    jobs of these users\n"
    "      --units=[KMGTP]       sizes in this unit\n"
    "  -V, --version             version and exit\n"
    "  -W, --wckeys=list         jobs of these wckeys\n"
    "  -X, --allocations         jobs only, no steps\n"
    "  -x, --associations=list   jobs of these associations\n"
    "      --json, --yaml[=data_parser]\n";

}  // namespace

std::string_view sacct_help() {
  return kHelp;
}

}  // namespace minke::cli
