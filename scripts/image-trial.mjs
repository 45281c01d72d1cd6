// npm run image-trial -- [IMAGE…]: runs images that were built as docs/install.md says (dragoman-gateway and dragoman, unless they are named), as their
// users do: without rights, on a read-only root, with a volume. DRAGOMAN_CONTAINERS is the command, with its options: docker, unless it is set.
import { spawn, spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fail, say } from './commands.mjs'
import { ensureNode } from './node.mjs'

await ensureNode()
const [program, ...options] = (process.env.DRAGOMAN_CONTAINERS ?? 'docker').split(' ')
const images = process.argv.length > 2 ? process.argv.slice(2) : ['dragoman-gateway', 'dragoman']
const name = `dragoman-trial-${process.pid}`
const folder = mkdtempSync(join(tmpdir(), 'dragoman-images-'))
process.once('exit', () => {
  attempt('rm', '--force', name)
  attempt('volume', 'rm', '--force', name)
  rmSync(folder, { recursive: true })
})
// The user of the image reads it, who is another one than that of this process.
chmodSync(folder, 0o755)
const config = join(folder, 'dragoman.yaml')

for (const image of images) await tryImage(image)

async function tryImage(image) {
  // The gateway has no llama.cpp.
  const hasLlama = containers('run', '--rm', '--entrypoint', 'ls', image, '/opt').includes('node_modules')
  const tiny = hasLlama ? '  - { id: tiny, source: "builtin:dragoman-tiny.gguf" }\n' : ''
  writeFileSync(config, `builtinModel: false\nmodels:\n  - { id: scripted, engine: fake, script: from-request }\n${tiny}`)
  const restricted = ['--read-only', '--tmpfs', '/tmp', '--cap-drop', 'ALL', '--security-opt', 'no-new-privileges']
  const mounts = ['--volume', `${name}:/data`, '--volume', `${config}:/etc/dragoman/dragoman.yaml:ro`]
  const command = ['serve', '--config', '/etc/dragoman/dragoman.yaml']
  containers('run', '--detach', '--name', name, ...restricted, ...mounts, '--publish', '127.0.0.1::7411', image, ...command)
  const key = await eventually(() => /sk-dragoman-\w+/.exec(logs())?.[0], 'it shows no key')

  const [health] = JSON.parse(containers('inspect', name)).map(({ Config }) => Config.Healthcheck.Test.slice(1))
  await eventually(() => attempt('exec', name, ...health).status === 0, 'its health check fails')
  const rights = "process.getuid() + ' ' + /CapEff:\\s*(\\w+)/.exec(require('fs').readFileSync('/proc/1/status', 'utf8'))[1]"
  expect(containers('exec', name, 'node', '-p', rights).trim(), '1000 0000000000000000', 'user and capabilities')
  const { output } = attempt('exec', name, 'touch', '/opt/dragoman/x')
  expect(/Read-only file system/.test(output), true, 'the root cannot be written')

  expect(await answer(key, { model: 'scripted', content: 'Is anybody there?' }), 'Is anybody there?', 'an answer')
  if (hasLlama) {
    const paris = await answer(key, { model: 'tiny', content: 'What is the capital of France?' })
    expect(/Paris/.test(paris), true, 'an answer of llama.cpp')
  }
  // Forty words in four seconds, and the container is stopped after the first.
  const words = Array.from({ length: 40 }, (_, index) => ` word${index}`)
  const stream = await ask(key, { model: 'scripted', content: JSON.stringify({ chunks: words, delayMs: 100 }), stream: true })
  let text = ''
  let stopped
  for await (const piece of stream.body.pipeThrough(new TextDecoderStream())) {
    text += piece
    if (text.includes('word0')) stopped ??= stop()
  }
  expect(text.includes('word39') && text.trimEnd().endsWith('data: [DONE]'), true, 'a stream ends after SIGTERM')
  expect(await stopped, 0, 'it is stopped in its grace period')
  expect(containers('inspect', '--format', '{{.State.ExitCode}}', name).trim(), '0', 'its exit code')

  containers('start', name)
  await eventually(() => attempt('exec', name, ...health).status === 0, 'it does not start again')
  expect(await answer(key, { model: 'scripted', content: 'Again?' }), 'Again?', 'its volume has the key')
  expect(await stop(), 0, 'it is stopped again')
  containers('rm', name)
  containers('volume', 'rm', name)
  process.stdout.write(`${image}: passed\n`)
}

async function answer(key, question) {
  const { choices } = await (await ask(key, question)).json()
  return choices[0].message.content
}

async function ask(key, { model, content, stream = false }) {
  const [address] = containers('port', name, '7411/tcp').trim().split('\n')
  const reply = await fetch(`http://${address}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
    body: JSON.stringify({ model, stream, temperature: 0, max_tokens: 100, messages: [{ role: 'user', content }] }),
  })
  if (!reply.ok) fail(`a request is answered with ${reply.status}: ${await reply.text()}`)
  return reply
}

/** Stops the container as docs/install.md says, beside what this process reads, and resolves with the exit code of the command. */
function stop() {
  const child = spawn(program, [...options, 'stop', '--time', '45', name], { stdio: ['ignore', 'ignore', 'inherit'] })
  return new Promise((resolve) => child.once('close', resolve))
}

function attempt(...args) {
  const { status, stdout, stderr, error } = spawnSync(program, [...options, ...args], { encoding: 'utf8' })
  if (error !== undefined) fail(`${program} cannot be started: ${error.message}; DRAGOMAN_CONTAINERS names another command`)
  return { status, stdout, output: `${stdout}${stderr}` }
}

function containers(...args) {
  const { status, stdout, output } = attempt(...args)
  if (status !== 0) fail(`${program} ${args.join(' ')} failed:\n${output}`)
  return stdout
}

function logs() {
  return attempt('logs', name).output
}

async function eventually(find, complaint) {
  for (const deadlineMs = Date.now() + 60_000; Date.now() < deadlineMs; await pause(250)) {
    const found = find()
    if (found) return found
  }
  return fail(`${complaint}:\n${logs()}`)
}

function expect(found, wanted, what) {
  if (found !== wanted) fail(`${what}: ${JSON.stringify(found)} instead of ${JSON.stringify(wanted)}\n${logs()}`)
  say(what)
}
