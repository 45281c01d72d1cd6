import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, cp, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { until } from '../../support/http/app.ts'
import { buildProgram, builtProgram } from '../../support/process/built-program.ts'

const root = fileURLToPath(new URL('../../..', import.meta.url))
const pretended = "Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.20.2' } })"

/** Stands for the newer Node.js: prints its arguments and the first folder of the PATH, and ends as it is told. */
const newerNode = `#!/bin/sh
trap 'echo stopped; exit 7' TERM
echo "$@"
echo "\${PATH%%:*}"
read line
echo "$line"
[ "$line" = wait ] && while :; do sleep 0.1; done
exit 3
`

/** A checkout whose scripts are run with an old Node.js. */
async function createCheckout() {
  const folder = await mkdtemp(join(tmpdir(), 'dragoman-older-node-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  await cp(join(root, 'scripts'), join(folder, 'scripts'), { recursive: true })
  const start = (args: readonly string[], env: NodeJS.ProcessEnv = {}) => {
    const child = spawn(process.execPath, ['--import', `data:text/javascript,${encodeURIComponent(pretended)}`, ...args], {
      cwd: folder,
      env: { ...process.env, ...env },
    })
    onTestFinished(() => void child.kill('SIGKILL'))
    const seen = { out: '', err: '' }
    child.stdout.setEncoding('utf8').on('data', (piece: string) => {
      seen.out += piece
    })
    child.stderr.setEncoding('utf8').on('data', (piece: string) => {
      seen.err += piece
    })
    return Object.assign(child, {
      seen,
      result: async () => {
        const [code] = (await once(child, 'close')) as [number | null]
        return { code, ...seen }
      },
    })
  }
  return { folder, start }
}

async function installNewer(folder: string): Promise<string> {
  const { version } = (await import(join(root, 'scripts', 'node.mjs'))) as { version: string }
  const binary = join(folder, '.cache', `node-${version}`, 'bin', 'node')
  await mkdir(dirname(binary), { recursive: true })
  await writeFile(binary, newerNode)
  await chmod(binary, 0o755)
  return binary
}

test.skipIf(process.platform === 'win32')('with an old Node.js, a script goes on with a newer one, in its place', async () => {
  const { folder, start } = await createCheckout()
  const binary = await installNewer(folder)
  const run = start(['scripts/start.mjs', '--port', '0'])
  run.stdin.end('input\n')
  const { code, out, err } = await run.result()
  const [args, path, line] = out.split('\n')
  expect(args).toMatch(/ \S+\/scripts\/start\.mjs --port 0$/)
  expect([path, line, code, err]).toEqual([dirname(binary), 'input', 3, ''])
})

test.skipIf(process.platform === 'win32')('so does the program of a checkout that was built, as npx starts it', async () => {
  buildProgram()
  const { folder, start } = await createCheckout()
  await installNewer(folder)
  const place = join(folder, 'dist', 'cli')
  await mkdir(place, { recursive: true })
  for (const name of ['program.js', 'node-version.js']) await cp(join(dirname(builtProgram), name), join(place, name))
  await writeFile(join(folder, 'package.json'), '{"type": "module"}')
  const run = start(['dist/cli/program.js', 'launch', 'pi'])
  run.stdin.end('\n')
  expect(await run.result()).toMatchObject({ code: 3, out: expect.stringMatching(/\/dist\/cli\/program\.js launch pi\n/) })
  await rm(join(folder, 'scripts'), { recursive: true })
  const { code, err } = await start(['dist/cli/program.js', 'launch', 'pi']).result()
  expect(err).toMatch(/^dragoman: Node\.js 22\.13 or later is needed, and this is 20\.20\.2 /)
  expect(code).toBe(1)
})

test.skipIf(process.platform === 'win32')('signals reach the newer Node.js, and its exit code comes back', async () => {
  const { folder, start } = await createCheckout()
  await installNewer(folder)
  const run = start(['scripts/test.mjs'])
  run.stdin.write('wait\n')
  await until(() => run.seen.out.includes('\nwait\n'))
  run.kill('SIGTERM')
  expect(await run.result()).toMatchObject({ code: 7, out: expect.stringContaining('stopped') })
})

test('without a network, one line says what to do', async () => {
  const { folder, start } = await createCheckout()
  const { code, out, err } = await start(['scripts/start.mjs'], {
    npm_config_registry: 'http://127.0.0.1:9',
    npm_config_cache: join(folder, 'npm-cache'),
  }).result()
  expect({ code, out }).toEqual({ code: 1, out: '' })
  const [fetching, failed, ...more] = err.trim().split('\n')
  expect(fetching).toMatch(/^dragoman: Node.js 20.20.2 is older than 22.13: fetching 24\./)
  expect(failed).toMatch(/^dragoman: .*cannot be installed .*ECONNREFUSED.* install Node.js 24 \(https:\/\/nodejs.org\)/)
  expect(more).toEqual([])
  expect(await readdir(join(folder, '.cache'))).toEqual([])
})
