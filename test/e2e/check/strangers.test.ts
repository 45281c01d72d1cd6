import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { listenOnLoopback } from '../../support/upstream/loopback.ts'

const program = join(import.meta.dirname, '../../../dist/cli/program.js')

/** A server that notes the keys that it gets, and answers everything. */
async function startServer() {
  const keys = new Set<string | undefined>()
  const { origin, close } = await listenOnLoopback((request, response) => {
    keys.add(request.headers.authorization ?? (request.headers['x-api-key'] as string | undefined))
    response.setHeader('content-type', 'application/json')
    const choice = { index: 0, message: { role: 'assistant', content: '{"better":"A"}' }, finish_reason: 'stop' }
    const list = { object: 'list', data: [{ id: 'theirs', object: 'model' }] }
    request.resume()
    response.end(JSON.stringify(request.method === 'GET' ? list : { object: 'chat.completion', choices: [choice] }))
  })
  onTestFinished(close)
  return { url: origin, keys }
}

async function command(own: string, ...args: readonly string[]) {
  const env = { ...process.env, DRAGOMAN_SERVER: own, DRAGOMAN_API_KEY: 'sk-mine' }
  await promisify(execFile)(process.execPath, [program, ...args], { env }).catch((error: { code: unknown }) => {
    if (typeof error.code !== 'number') throw error
  })
}

async function captured(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'dragoman-strangers-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const body = { model: 'theirs', messages: [{ role: 'user', content: 'Hi' }] }
  await writeFile(join(folder, '1.json'), JSON.stringify({ method: 'POST', path: '/v1/chat/completions', headers: {}, body }))
  return folder
}

test('a server that a replay compares with, and one that judges, get their own keys only', async () => {
  const [mine, theirs, judge] = [await startServer(), await startServer(), await startServer()]
  const compare = ['replay', await captured(), '--diff', '--against', `${theirs.url}/v1`]
  await command(mine.url, ...compare, '--judge', judge.url)
  await command(mine.url, 'replay', await captured(), '--diff', '--against', 'other', '--judge', judge.url)
  expect([...mine.keys]).toEqual(['Bearer sk-mine'])
  expect([...theirs.keys]).toEqual([undefined])
  expect([...judge.keys]).toEqual([undefined])
  theirs.keys.clear()
  await command(mine.url, ...compare, '--against-key', 'sk-theirs')
  expect([...theirs.keys]).toEqual(['Bearer sk-theirs'])
  await command(mine.url, 'replay', await captured(), '--diff', '--against', `${mine.url}/v1/`)
  expect([...mine.keys]).toEqual(['Bearer sk-mine'])
})

test('a server that is checked gets the key of the own server only if it is that', async () => {
  const [mine, theirs] = [await startServer(), await startServer()]
  await command(mine.url, 'check', theirs.url, '--only', 'models')
  expect([...theirs.keys]).toEqual([undefined])
  await command(mine.url, 'check', theirs.url, '--only', 'models', '--key', 'sk-theirs')
  expect([...theirs.keys]).toEqual([undefined, 'Bearer sk-theirs'])
  await command(mine.url, 'check', `${mine.url}/v1`, '--only', 'models')
  expect([...mine.keys]).toContain('Bearer sk-mine')
})
