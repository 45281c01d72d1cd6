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

/** The facts of this machine that bubblewrap needs. */
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
  /** Folders outside /usr that it needs. */
  readonly folders: readonly string[]
}

/** The entries of /etc that programs need to start and to print dates; none describes this machine. */
const settings = ['alternatives', 'ld.so.cache', 'ld.so.conf', 'ld.so.conf.d', 'localtime', 'mime.types', 'fonts']
const inside = { uid: '1000', gid: '1000', name: 'sandbox' }
const accounts = `root:x:0:0::/:/usr/bin/false\nuser:x:${inside.uid}:${inside.gid}::${insideFolder}:/bin/bash\n`
const groups = `root:x:0:\nuser:x:${inside.gid}:\n`
const hosts = '127.0.0.1 localhost\n::1 localhost\n'

/**
 * Starts a program in namespaces of its own, with a root of what it needs to read and its session's folder to write. The options are read
 * from a descriptor, so that no list of processes shows them, inside or outside.
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
    // A program must not change kernel parameters, even those of its own namespaces.
    ...['--proc', '/proc', '--ro-bind', '/proc/sys', '/proc/sys', '--dev', '/dev'],
    ...['--perms', '1777', '--size', `${temporaryBytes}`, '--tmpfs', '/dev/shm'],
    ...['--perms', '1777', '--size', `${temporaryBytes}`, '--tmpfs', '/tmp'],
    ...['--bind', folder, insideFolder, '--chdir', insideFolder],
    // Folders that bubblewrap made are memory without a limit.
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
 * Starts a command with one pipe for both outputs. Node.js gives children sockets, which cannot be opened through /dev/stdout, and a
 * program should not hold a socket whose other end is the server. Descriptors inherited from the server's own parent are closed. `server`:
 * the descriptor that signals when to begin.
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
 * Runs inside: starts a command when the server confirms that it is alive. The question is sent once the server's end is bound to end
 * everything inside: before the first process waits for others, it has bound itself to bubblewrap, which is by then bound to the server. An
 * open descriptor alone does not prove that the server is alive: a killed process signals its children immediately, and closes its files
 * later, when its memory is freed.
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

/** Runs inside, where the processes of this run are counted alone. Programs cannot raise the limits: they have no capabilities. */
function prlimit({ memoryBytes, fileBytes, cpuSeconds, processes }: SandboxLimits): readonly string[] {
  return [
    '/usr/bin/prlimit',
    `--data=${memoryBytes}`,
    `--as=${addressSpaceBytes}`,
    `--fsize=${fileBytes}`,
    // First a signal that names the reason; then the kill.
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
