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

test('progress while loading is the share of the files that is in memory', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'dragoman-launch-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const [binary, modelPath] = [join(folder, 'server.js'), join(folder, 'm.gguf')]
  await writeFile(binary, `#!${process.execPath}\n${server}`)
  await chmod(binary, 0o755)
  await writeFile(modelPath, 'x'.repeat(1000))
  const plan: ServerPlan = { binary, modelPath, contextLength: 100, slots: 1, flashAttention: 'auto', extraArguments: [] }
  const reported: number[] = []
  await new Promise<void>((resolve, reject) => {
    const launched = launchServer(
      plan,
      {
        onHeard: () => true,
        onLoading: (progress) => reported.push(progress),
        onReady: () => resolve(),
        onLoadFailed: (message) => reject(new Error(message)),
      },
      { model: 'm', log: { debug: () => undefined, info: () => undefined, warn: () => undefined } },
    )
    onTestFinished(() => launched.kill())
  })
  expect(reported).toEqual([0.99, 0.99])
})
