import { mkdtemp, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { until } from '../../support/http/app.ts'
import { builtProgram as program } from '../../support/process/built-program.ts'
import { useCommandLine } from '../../support/process/command-line.ts'

const cli = useCommandLine()

const dragoman = '"$0" "$1"'

/** Runs a script, whose `$2` is a configuration. */
function shell(script: string) {
  return cli.launch(['sh', '-c', script, process.execPath, program, cli.config], {})
}

test.skipIf(process.platform !== 'linux')('a full disk costs the log its lines, not the server its life', async () => {
  const server = shell(`exec ${dragoman} serve --config "$2" --port 0 2> /dev/full`)
  await until(() => server.out().includes('listening on'))
  const url = server.out().trim().split(' ').at(-1)
  const body = JSON.stringify({ messages: [{ role: 'user', content: 'hello' }] })
  for (let i = 0; i < 3; i += 1) {
    const headers = { 'content-type': 'application/json' }
    const reply = await fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body })
    expect(await reply.json()).toMatchObject({ choices: [{ message: { content: 'hello' } }] })
  }
  server.child.kill('SIGTERM')
  expect(await server.ended).toBe(0)
})

test('in a folder that is gone, the reason is one line', async () => {
  const folder = await mkdtemp(join(cli.home, 'gone-'))
  for (const command of ['serve --config "$2" --port 0', 'list', 'config --check']) {
    const run = shell(`cd "${folder}" && rmdir "${folder}" && ${dragoman} ${command}; code=$?; mkdir "${folder}"; exit $code`)
    expect(await run.ended).toBe(1)
    expect(run.err()).toContain('the current folder no longer exists: start dragoman in another one')
    expect(run.err()).not.toContain(' at ')
  }
})

test('a configuration in the encoding of another system is named', async () => {
  const file = join(cli.home, 'utf16.yaml')
  await writeFile(file, Buffer.from('\ufeffserver: { port: 7411 }\n', 'utf16le'))
  const run = cli.start(['config', '--check', '--config', file])
  expect(await run.ended).toBe(1)
  expect(run.err()).toBe(`dragoman: the configuration file '${file}' cannot be read: it is UTF-16: save it as UTF-8\n`)
})
