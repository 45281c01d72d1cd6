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
  const failed = (error: { readonly code: unknown; readonly stderr: string }) => {
    if (typeof error.code !== 'number') throw error
    return error
  }
  return (await promisify(execFile)(process.execPath, [program, ...args], { env }).catch(failed)).stderr
}

const question = { model: 'theirs', messages: [{ role: 'user', content: 'Hi' }] }

async function captured(path = '/v1/chat/completions', body: object = question): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'dragoman-strangers-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  await writeFile(join(folder, '1.json'), JSON.stringify({ method: 'POST', path, headers: {}, body }))
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

test('a server does not get the key of another one that redirects to it', async () => {
  const theirs = await startServer()
  const { origin, close } = await listenOnLoopback((request, response) => {
    request.resume()
    response.writeHead(307, { location: theirs.url + request.url }).end()
  })
  onTestFinished(close)
  const body = { model: 'theirs', max_tokens: 8, messages: [{ role: 'user', content: 'Hi' }] }
  const folder = await captured('/v1/messages', body)
  await command(origin, 'replay', folder, '--diff', '--against', 'other')
  expect(await command(origin, 'check', origin, '--only', 'models')).toContain(`redirects to ${theirs.url}/v1/models`)
  expect([...theirs.keys].filter((key) => key !== undefined)).toEqual([])
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
