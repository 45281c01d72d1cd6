import { execFile } from 'node:child_process'
import { setTimeout as pause } from 'node:timers/promises'
import { piped } from './bubblewrap.ts'
import { openFiles, temporaryBytes } from './limits.ts'
import { environment, insideFolder, type Launch, type SandboxJob } from './sandbox.ts'

const settleMs = 500
/** For all containers of a user together: podman's default exceeds what some users may have. `pids-limit` applies to each. */
const userProcesses = 4096

/** The podman of this machine, and the image whose programs are used. */
type Podman = {
  readonly podman: string
  readonly image: string
  readonly interpreter: string
  /** Set where the server is root: programs run as another user. */
  readonly user?: { readonly uid: number; readonly gid: number }
}

/** Starts a program in a container that is removed at its end. `name`: the container's, unique to this run. */
export function podmanLaunch(
  { program, folder, limits }: SandboxJob,
  { podman, image, interpreter, user }: Podman,
  name: string,
): Launch {
  const { memoryBytes, fileBytes, cpuSeconds, processes } = limits
  const { PATH: _ofImage, ...variables } = environment([])
  const options = [
    ...['--rm', '--name', name, '--pull=never', '--log-driver=none', '--hostname=sandbox', '--init'],
    ...['--network=none', '--ipc=private', '--read-only', '--read-only-tmpfs=false'],
    ...['--cap-drop=all', '--security-opt=no-new-privileges'],
    ...(user === undefined ? ['--userns=keep-id'] : [`--user=${user.uid}:${user.gid}`]),
    ...[`--memory=${memoryBytes}`, `--memory-swap=${memoryBytes}`, `--pids-limit=${processes}`, `--shm-size=${temporaryBytes}`],
    ...Object.entries({ fsize: fileBytes, cpu: cpuSeconds, nofile: openFiles, core: 0, nproc: userProcesses }).map(
      ([limit, value]) => `--ulimit=${limit}=${value}:${value}`,
    ),
    `--tmpfs=/tmp:rw,nosuid,nodev,mode=1777,size=${temporaryBytes}`,
    ...['--volume', `${folder}:${insideFolder}`, '--workdir', insideFolder],
    ...Object.entries(variables).map(([key, value]) => `--env=${key}=${value}`),
    '--entrypoint=env',
  ]
  const start = program.language === 'python' ? [interpreter, '-u', '-c', program.code] : ['bash', '-c', program.code]
  return {
    ...piped([podman, 'run', ...options, image, ...start], 0),
    env: ownEnvironment(),
    descriptors: [],
    // The container's processes are not children of podman's client.
    end: async () => {
      await remove(podman, name)
      // A container that was being created when its client was killed can appear later.
      await pause(settleMs)
      await remove(podman, name)
    },
  }
}

function remove(podman: string, name: string): Promise<void> {
  return new Promise((resolve) => {
    execFile(podman, ['rm', '--force', '--ignore', '--time=0', name], { env: ownEnvironment() }, () => resolve())
  })
}

/** The variables that podman needs to find its images. */
export function ownEnvironment(): Record<string, string> {
  const { PATH = '/usr/local/bin:/usr/bin:/bin', HOME, XDG_RUNTIME_DIR } = process.env
  return { PATH, ...(HOME !== undefined && { HOME }), ...(XDG_RUNTIME_DIR !== undefined && { XDG_RUNTIME_DIR }) }
}
