import { execFile } from 'node:child_process'
import { readlink } from 'node:fs/promises'
import { promisify } from 'node:util'
import { randomHex } from '../../base/random-hex.ts'
import { bubblewrapLaunch } from './bubblewrap.ts'
import { findMachine, findProgram, otherUser } from './find-machine.ts'
import { ownEnvironment, podmanLaunch } from './podman.ts'
import { runProgram } from './run-program.ts'
import type { Launch, SandboxJob, SandboxProgram } from './sandbox.ts'

export type Isolation = {
  launch(job: SandboxJob): Launch
  /** Programs run as another user of this machine, without a user namespace. */
  readonly sharesUsers?: true
}

/** Finds the configured isolation. Rejects with a sentence about why it cannot be used here, and what to do. */
export async function findIsolation(runtime: string, interpreter: string | undefined): Promise<Isolation> {
  if (runtime.startsWith('podman:')) return findPodman(runtime.slice('podman:'.length), interpreter)
  const machine = await findMachine(interpreter)
  return { launch: (job) => bubblewrapLaunch(job, machine) }
}

async function findPodman(image: string, interpreter: string | undefined): Promise<Isolation> {
  const podman = findProgram('podman')
  if (podman === undefined) throw new Error('podman is not installed (Debian, Ubuntu: apt-get install podman)')
  await promisify(execFile)(podman, ['image', 'exists', image], { env: ownEnvironment() }).catch(() => {
    throw new Error(`podman has no image '${image}': run \`podman pull ${image}\` as the user of the server`)
  })
  const user = otherUser()
  const settings = { podman, image, interpreter: interpreter ?? 'python3', ...(user !== undefined && { user }) }
  return {
    launch: (job) => podmanLaunch(job, settings, `dragoman-sandbox-${randomHex()}`),
    ...(user !== undefined && { sharesUsers: true }),
  }
}

const namespaces = ['net', 'pid', 'user', 'mnt', 'ipc', 'uts'] as const
const checks: Readonly<Record<SandboxProgram['language'], string>> = {
  bash: `cat /proc/self/status; cd /proc/self/ns; for name in ${namespaces.join(' ')}; do readlink $name; done`,
  python: `import os
print(open('/proc/self/status').read())
for name in '${namespaces.join(' ')}'.split(): print(os.readlink('/proc/self/ns/' + name))`,
}
const checkTimeoutMs = 20_000

/** Runs a program that reports its surroundings. Rejects with a sentence unless it is isolated in every way. */
export async function checkIsolation(
  isolation: Isolation,
  job: Omit<SandboxJob, 'program'>,
  language: SandboxProgram['language'],
) {
  const launch = isolation.launch({ ...job, program: { language, code: checks[language] } })
  const watch = { everyMs: checkTimeoutMs, tooMuch: () => undefined }
  const { output, exitCode } = await runProgram(launch, watch, AbortSignal.timeout(checkTimeoutMs))
  const said = output.trim().split('\n').slice(-3).join(' | ').slice(0, 500)
  if (exitCode !== 0) throw new Error(explain(said === '' ? `it ended with code ${exitCode}` : said))
  const outside = await Promise.all(namespaces.map((name) => readlink(`/proc/self/ns/${name}`)))
  const shared = outside.filter((name) => output.includes(name) && !(isolation.sharesUsers && name.startsWith('user:')))
  const isBound = /^CapEff:\s+0+$/m.test(output) && /^NoNewPrivs:\s+1$/m.test(output)
  if (shared.length > 0 || !isBound) throw new Error(`programs are not isolated here: ${shared.join(', ') || 'they have rights'}`)
}

function explain(said: string): string {
  const isRefused = /namespace|uid map|Operation not permitted|Permission denied|No space left on device/.test(said)
  const advice = isRefused
    ? '; this machine or container does not allow user namespaces to the user of the server (docs/tools.md)'
    : ''
  return `the sandbox does not start: ${said}${advice}`
}
