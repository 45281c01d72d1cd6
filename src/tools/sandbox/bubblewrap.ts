import { addressSpaceBytes, openFiles, type SandboxLimits, temporaryBytes } from './limits.ts'
import {
  commandOf,
  environment,
  insideCode,
  insideFolder,
  type Launch,
  type LaunchDescriptor,
  type SandboxJob,
} from './sandbox.ts'

/** What bubblewrap needs to know of this machine. */
export type Machine = {
  readonly bwrap: string
  readonly interpreter: Interpreter
  /** Entries of the root that programs need besides /usr: links into it, or folders. */
  readonly rootEntries: readonly { readonly path: string; readonly linkTo?: string }[]
  readonly filter: Buffer | undefined
  /** Where the server can make control groups. */
  readonly groupFolder?: string
  /** Set where the server is root: programs run as another user. */
  readonly user?: { readonly uid: number; readonly gid: number }
}

export type Interpreter = {
  readonly path: string
  /** Folders outside of /usr that it needs. */
  readonly folders: readonly string[]
}

/** Of /etc, what programs need to start and to print dates, and nothing about this machine. */
const settings = ['alternatives', 'ld.so.cache', 'ld.so.conf', 'ld.so.conf.d', 'localtime', 'mime.types', 'fonts']
const inside = { uid: '1000', gid: '1000', name: 'sandbox' }
const accounts = `root:x:0:0::/:/usr/bin/false\nuser:x:${inside.uid}:${inside.gid}::${insideFolder}:/bin/bash\n`
const groups = `root:x:0:\nuser:x:${inside.gid}:\n`
const hosts = '127.0.0.1 localhost\n::1 localhost\n'

/**
 * Starts a program in namespaces of its own, with a root that has what it needs to read and its session's folder to write. The options are
 * read from a descriptor: the list of processes, inside and outside, does not show them.
 */
export function bubblewrapLaunch({ program, folder, limits }: SandboxJob, machine: Machine): Launch {
  const { bwrap, interpreter, filter, groupFolder, user } = machine
  const descriptors: LaunchDescriptor[] = [Buffer.alloc(0)]
  const give = (content: LaunchDescriptor): string => {
    descriptors.push(content)
    return `${descriptors.length + 2}`
  }
  const options = [
    ...['--unshare-all', '--unshare-user', '--disable-userns', '--unshare-cgroup-try'],
    ...['--uid', inside.uid, '--gid', inside.gid, '--hostname', inside.name],
    ...['--die-with-parent', '--new-session', '--cap-drop', 'ALL'],
    ...['--json-status-fd', give('status')],
    ...(filter === undefined ? [] : ['--seccomp', give(filter)]),
    '--clearenv',
    ...Object.entries(environment(pathFoldersOf(interpreter))).flatMap(([name, value]) => ['--setenv', name, value]),
    ...['--ro-bind', '/usr', '/usr'],
    ...machine.rootEntries.flatMap(({ path, linkTo }) =>
      linkTo === undefined ? ['--ro-bind', path, path] : ['--symlink', linkTo, path],
    ),
    ...interpreter.folders.flatMap((path) => ['--ro-bind', path, path]),
    ...settings.flatMap((name) => ['--ro-bind-try', `/etc/${name}`, `/etc/${name}`]),
    ...['--ro-bind-data', give(Buffer.from(accounts)), '/etc/passwd'],
    ...['--ro-bind-data', give(Buffer.from(groups)), '/etc/group'],
    ...['--ro-bind-data', give(Buffer.from(hosts)), '/etc/hosts'],
    ...(program.language === 'python' ? ['--perms', '0444', '--ro-bind-data', give(Buffer.from(program.code)), insideCode] : []),
    // Parameters of the kernel: even those of namespaces of its own are not a program's to change.
    ...['--proc', '/proc', '--ro-bind', '/proc/sys', '/proc/sys', '--dev', '/dev'],
    ...['--perms', '1777', '--size', `${temporaryBytes}`, '--tmpfs', '/dev/shm'],
    ...['--perms', '1777', '--size', `${temporaryBytes}`, '--tmpfs', '/tmp'],
    ...['--bind', folder, insideFolder, '--chdir', insideFolder],
    // What bubblewrap made is memory without a limit.
    ...['--remount-ro', '/dev', '--remount-ro', '/'],
  ]
  descriptors[0] = Buffer.from(options.map((option) => `${option}\0`).join(''))
  const server = give('server')
  const start = [...whenServerAnswers(server), ...prlimit(limits), ...commandOf(program, interpreter.path)]
  return {
    ...piped(['nice', '-n', '10', bwrap, '--args', '3', '--', ...start], descriptors.length, server),
    env: { PATH: '/usr/local/bin:/usr/bin:/bin' },
    ...(user !== undefined && { user }),
    descriptors,
    ...(groupFolder !== undefined && { group: { folder: groupFolder, memoryBytes: limits.memoryBytes + 2 * temporaryBytes } }),
  }
}

/**
 * With one pipe for both outputs. What Node.js gives to children are sockets: their names in /dev/stdout cannot be opened, and a program
 * should not hold an end of one whose other end is the server. Descriptors that the server got from its own parent are closed. `server` is
 * the descriptor that tells when to begin.
 */
export function piped(command: readonly string[], descriptors: number, server?: string): Pick<Launch, 'command' | 'args'> {
  const script = [
    ...(server === undefined ? [] : [`read -r -u ${server} || exit`]),
    'exec > >(exec cat) 2>&1',
    `for path in /proc/self/fd/*; do fd=\${path##*/}; if ((fd > ${descriptors + 2})); then eval "exec $fd>&-"; fi; done`,
    'exec "$@"',
  ]
  return { command: 'bash', args: ['-c', script.join('\n'), 'sandbox', ...command] }
}

/**
 * Inside: starts a command when the server answers that it lives. It is asked when its end is bound to end what is inside: the first process
 * binds itself to bubblewrap, which is bound to the server by then, before it waits for others. That its end of the descriptor is open does
 * not show that it lives: a process that is killed tells its children at once, and closes its files when its memory is freed.
 */
function whenServerAnswers(descriptor: string): readonly string[] {
  const script = [
    'until read -r state < /proc/1/stat && [[ $state == *") S "* ]]; do :; done',
    `echo >&${descriptor} && read -r -u ${descriptor} || exit`,
    `exec ${descriptor}<&-`,
    'exec env -u SHLVL "$@"',
  ]
  return ['/usr/bin/env', 'bash', '-c', script.join('\n'), 'sandbox']
}

/** Inside, where processes are counted for this run alone. Programs cannot raise them: they have no capabilities. */
function prlimit({ memoryBytes, fileBytes, cpuSeconds, processes }: SandboxLimits): readonly string[] {
  return [
    '/usr/bin/prlimit',
    `--data=${memoryBytes}`,
    `--as=${addressSpaceBytes}`,
    `--fsize=${fileBytes}`,
    // First a signal of its own, which tells why; then the end.
    `--cpu=${cpuSeconds}:${cpuSeconds + 1}`,
    `--nproc=${processes}`,
    `--nofile=${openFiles}`,
    '--core=0',
    '--memlock=0',
    '--msgqueue=0',
    '--rtprio=0',
    '--',
  ]
}

function pathFoldersOf({ path, folders }: Interpreter): readonly string[] {
  return folders.length === 0 ? [] : [path.slice(0, path.lastIndexOf('/'))]
}
