import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { freePort } from '../../../src/engine/llama-server/free-port.ts'
import { startApp, until } from '../../support/http/app.ts'

const open: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close()
})

/** Programs of the recipe that are not Slurm's. */
const missing = ['bash', 'flock', 'curl'].filter((name) => spawnSync('which', [name]).status !== 0)
const hint = missing.length === 0 ? '' : ` (skipped: there is no ${missing.join(', ')})`

/** Answers as vLLM does, with its port as the text. */
const server = `
import http from 'node:http'
const port = Number(process.argv[process.argv.indexOf('--port') + 1])
http.createServer((request, response) => {
  request.resume().on('end', () => {
    const json = (value) => response.end(JSON.stringify(value))
    if (request.url === '/v1/models') return json({ object: 'list', data: [{ id: 'Qwen/Qwen3-32B', owned_by: 'vllm', max_model_len: 4096 }] })
    if (request.method === 'GET') return json({ version: '0.32.0' })
    const choices = [{ index: 0, delta: { content: String(port) }, finish_reason: 'stop' }]
    response.setHeader('content-type', 'text/event-stream')
    response.end('data: ' + JSON.stringify({ id: 'x', object: 'chat.completion.chunk', created: 1, model: 'm', choices }) + '\\n\\ndata: [DONE]\\n\\n')
  })
}).listen(port, '127.0.0.1')
`

/** The script of docs/clusters.md, with a folder of the test's own, and programs that stand for vLLM and the name of the machine. */
async function recipe() {
  const folder = await mkdtemp(join(tmpdir(), 'dragoman-slurm-'))
  open.push(() => rm(folder, { recursive: true, force: true }))
  const text = await readFile(new URL('../../../docs/clusters.md', import.meta.url), 'utf8')
  const script = /^## Slurm$[\s\S]*?^```sh\n([\s\S]*?)^```$/m.exec(text)?.[1] ?? expect.unreachable('the script is there')
  await writeFile(join(folder, 'job.sh'), script.replace('/shared/dragoman/qwen', join(folder, 'shared')))
  await writeFile(join(folder, 'server.mjs'), server)
  for (const [name, body] of [
    ['vllm', `exec ${process.execPath} ${join(folder, 'server.mjs')} "$@"`],
    ['hostname', 'echo 127.0.0.1'],
  ] as const) {
    await writeFile(join(folder, name), `#!/bin/sh\n${body}\n`)
    await chmod(join(folder, name), 0o755)
  }
  const start = async (id: string): Promise<{ readonly port: string; readonly job: ChildProcess }> => {
    const port = await freePort()
    const env = {
      ...process.env,
      PATH: `${folder}:${process.env.PATH}`,
      SLURM_ARRAY_TASK_ID: `${port - 8000}`,
      SLURM_JOB_ID: id,
      DRAIN_S: '1',
    }
    const job = spawn('bash', [join(folder, 'job.sh')], { env, stdio: 'ignore', detached: true })
    open.push(async () => {
      try {
        process.kill(-(job.pid ?? 0), 'SIGKILL')
      } catch {
        // It has ended.
      }
    })
    return { port: `${port}`, job }
  }
  return { file: join(folder, 'shared', 'endpoints.yaml'), start }
}

test.skipIf(missing.length > 0)(
  `jobs of Slurm publish their servers, and take them out before they end${hint}`,
  async () => {
    const { file, start } = await recipe()
    const one = await start('101')
    const two = await start('102')
    const listed = async () => (await readFile(file, 'utf8').catch(() => '')).match(/127\.0\.0\.1:\d+/g)?.length ?? 0
    await until(async () => (await listed()) === 2)
    const endpoints = { file, everyMs: 100 }
    const app = await startApp({ models: [{ id: 'qwen', engine: 'remote', server: 'vllm', endpoints }], builtinModel: false })
    open.push(() => app.close())
    let asked = 0
    /** The ports that answered eight requests. */
    const answerers = async () => {
      const texts = Array.from({ length: 8 }, async () => {
        asked += 1
        const response = await fetch(`${app.url}/v1/chat/completions`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ model: 'qwen', messages: [{ role: 'user', content: `Request ${asked}.` }] }),
        })
        expect(response.status).toBe(200)
        return ((await response.json()) as { choices: { message: { content: string } }[] }).choices[0]?.message.content
      })
      return [...new Set(await Promise.all(texts))].sort()
    }
    await until(async () => (await answerers()).length === 2)
    one.job.kill('SIGTERM')
    await until(async () => (await listed()) === 1)
    await until(async () => (await answerers()).join() === two.port)
    if (one.job.exitCode === null) await once(one.job, 'exit')
    expect(await answerers()).toEqual([two.port])
  },
  60_000,
)
