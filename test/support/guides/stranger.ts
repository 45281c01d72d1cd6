import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { scriptOf, stepsOf } from './guide.ts'

const root = fileURLToPath(new URL('../../../', import.meta.url))

/** What the machine of the reader has besides: programs, servers that the page takes for granted. */
export type Machine = {
  /** Folders before the PATH. */
  readonly path?: readonly string[]
  /** Commands before the first step, such as servers that the page assumes. */
  readonly before?: string
}

/**
 * Follows a page word by word, as somebody with an empty home folder would, with a network of its own: nothing is reached, and ports
 * are free. A mirror of Hugging Face on loopback has dragoman-tiny under every name. Returns what is wrong.
 */
export async function follow(page: string, machine: Machine = {}): Promise<readonly string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'dragoman-guide-'))
  try {
    const [home, out, bin] = [join(folder, 'home'), join(folder, 'out'), join(folder, 'bin')]
    for (const made of [join(home, 'work'), out, bin]) await mkdir(made, { recursive: true })
    await program(bin, 'dragoman', `exec ${process.execPath} ${join(root, 'dist/cli/program.js')} "$@"`)
    await program(bin, 'sudo', 'exec "$@"')
    await symlink(process.execPath, join(bin, 'node'))
    await installPackages(join(home, 'work', 'node_modules'))
    const steps = stepsOf(await readFile(join(root, page), 'utf8'))
    const hub = `node ${join(root, 'test/support/guides/hub.mjs')} ${join(root, 'models/dragoman-tiny.gguf')} & export HF_ENDPOINT=http://127.0.0.1:7999\n`
    await writeFile(join(folder, 'script.sh'), `${hub}${machine.before ?? ''}\n${scriptOf(steps, out)}`)
    const path = [bin, ...(machine.path ?? []), '/usr/sbin', '/usr/bin', '/bin'].join(':')
    const NODE_COMPILE_CACHE = process.env.NODE_COMPILE_CACHE ?? ''
    const env = { HOME: home, PATH: path, TMPDIR: folder, LANG: 'C.UTF-8', CI: '1', NODE_COMPILE_CACHE }
    const { status, text } = await inside(folder, join(home, 'work'), env)
    const outputs = new Map<string, string>()
    for (const name of await readdir(out)) outputs.set(name, await readFile(join(out, name), 'utf8'))
    const unseen = steps.flatMap((step) => {
      const output = outputs.get(String(step.line))
      if (step.type !== 'run' || step.prints === undefined || output === undefined || step.prints.test(output)) return []
      return [`line ${step.line} does not print ${step.prints}: ${output.slice(-2000)}`]
    })
    if (status === 0) return unseen
    const logs = Array.from(outputs, ([line, output]) => `line ${line}: ${output.slice(-1500)}`)
    return [`${text.trim()}\n${logs.join('\n')}`, ...unseen]
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** What the reader's `npm install` would bring, and Dragoman itself. */
async function installPackages(folder: string): Promise<void> {
  await mkdir(folder)
  const names = (await readdir(join(root, 'node_modules'))).filter((name) => name !== 'dragoman' && name !== '.vite')
  for (const name of names) await symlink(join(root, 'node_modules', name), join(folder, name))
  await symlink(root, join(folder, 'dragoman'))
}

async function program(folder: string, name: string, commands: string): Promise<void> {
  await writeFile(join(folder, name), `#!/bin/sh\n${commands}\n`, { mode: 0o755 })
}

/** Runs the script where only `folder`, and what nginx writes, can be changed. */
function inside(folder: string, cwd: string, env: Record<string, string>): Promise<{ status: number; text: string }> {
  // As root, all users are there: nginx changes to its own.
  const user = process.getuid?.() === 0 ? [] : ['--unshare-user', '--uid', '0', '--gid', '0']
  const changing = ['/run', '/etc/nginx/conf.d', '/etc/nginx/sites-enabled', '/var/log/nginx', '/var/lib/nginx']
  const args = [
    ...['--ro-bind', '/', '/', '--dev', '/dev', '--proc', '/proc', '--bind', folder, folder],
    ...changing.flatMap((each) => ['--tmpfs', each]),
    ...user,
    ...['--unshare-net', '--unshare-pid', '--die-with-parent', '--cap-add', 'ALL'],
    ...['--chdir', cwd, '--clearenv', ...Object.entries(env).flatMap(([name, value]) => ['--setenv', name, value])],
    ...['bash', join(folder, 'script.sh')],
  ]
  return new Promise((resolve) => {
    execFile('bwrap', args, { timeout: 120_000 }, (error, stdout, stderr) => {
      resolve({ status: error === null ? 0 : 1, text: `${stdout}${stderr}` })
    })
  })
}
