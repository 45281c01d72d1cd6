import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { launchServer } from './launch.ts'
import type { ServerPlan } from './server-plan.ts'

/** A program that listens as llama-server does, and has loaded its model when it was asked for the third time. */
const server = `
const { createServer } = require('node:http')
const after = (name) => process.argv[process.argv.indexOf(name) + 1]
let asked = 0
createServer((request, response) => {
  if (request.url.startsWith('/health')) asked += 1
  response.statusCode = asked >= 3 ? 200 : 503
  response.end(JSON.stringify(request.url === '/v1/models' ? { data: [{ id: after('--alias') }] } : {}))
}).listen(Number(after('--port')), '127.0.0.1')
`

/** Starts this program as a llama-server. */
async function launch(program: string, { onReady, onLoadFailed, onLoading = () => undefined }: Outcome): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'dragoman-launch-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const [binary, modelPath] = [join(folder, 'server.js'), join(folder, 'm.gguf')]
  await writeFile(binary, `#!${process.execPath}\n${program}`)
  await chmod(binary, 0o755)
  await writeFile(modelPath, 'x'.repeat(1000))
  const plan: ServerPlan = { binary, modelPath, contextLength: 100, slots: 1, flashAttention: 'auto', extraArguments: [] }
  const launched = launchServer(
    plan,
    { onHeard: () => true, onLoading, onReady, onLoadFailed },
    { model: 'm', log: { debug: () => undefined, info: () => undefined, warn: () => undefined } },
  )
  onTestFinished(() => launched.kill())
}

type Outcome = {
  readonly onReady: () => void
  readonly onLoadFailed: (message: string) => void
  readonly onLoading?: (progress: number) => void
}

test('progress while loading is the share of the files that is in memory', async () => {
  const reported: number[] = []
  await new Promise<void>((onReady, reject) => {
    void launch(server, {
      onReady,
      onLoadFailed: (message) => reject(new Error(message)),
      onLoading: (one) => reported.push(one),
    })
  })
  expect(reported).toEqual([0.99, 0.99])
})

test('a server that is too busy to describe its model is asked again, and not taken for another program', async () => {
  const busyOnce = server
    .replace('let asked = 0', 'let [asked, told] = [0, 0]')
    .replace('if (request.url', "if (request.url === '/v1/models' && told++ === 0) return\n  if (request.url")
  const end = await new Promise((resolve) => void launch(busyOnce, { onReady: () => resolve('ready'), onLoadFailed: resolve }))
  expect(end).toBe('ready')
})
