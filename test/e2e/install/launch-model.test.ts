import { spawn } from 'node:child_process'
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { builtinModel } from '../../../src/registry/names/builtin-model.ts'
import { type RunningApp, startApp } from '../../support/http/app.ts'
import { writeTrainedFor } from '../../support/llama/trained-for.ts'
import { buildProgram, builtProgram } from '../../support/process/built-program.ts'

/** Lists what the server has, asks it by a name that nobody gave it, and prints the length of the context that it was given. */
const standIn = `#!${process.execPath}
const { ANTHROPIC_BASE_URL: url, ANTHROPIC_AUTH_TOKEN: key, ANTHROPIC_MODEL: model, CLAUDE_CODE_MAX_CONTEXT_TOKENS: context } = process.env
const headers = { authorization: 'Bearer ' + key, 'content-type': 'application/json' }
const ask = async (path, body) => {
  const answer = await fetch(url + path, body === undefined ? { headers } : { method: 'POST', headers, body: JSON.stringify(body) })
  return { status: answer.status, ...(await answer.json()) }
}
const { models } = await ask('/api/inference/status')
const messages = [{ role: 'user', content: 'Hello' }]
const { status } = await ask('/v1/messages', { model: 'claude-opus-9', max_tokens: 2, messages })
console.log(JSON.stringify({ url, model, context: Number(context), slots: models.find(({ id }) => id === model)?.slots, status }))
`

const nowhere = 'http://127.0.0.1:9'

let home: string
let long: string
beforeAll(async () => {
  buildProgram()
  home = await mkdtemp(join(tmpdir(), 'dragoman-launch-model-'))
  await mkdir(join(home, 'bin'))
  await writeFile(join(home, 'bin', 'claude'), standIn)
  await chmod(join(home, 'bin', 'claude'), 0o755)
  await writeFile(join(home, 'bin', 'package.json'), '{"type": "module"}')
  long = join(home, 'long.gguf')
  await writeTrainedFor(long, { from: builtinModel.path, tokens: 65_536 })
})
afterAll(() => rm(home, { recursive: true, force: true }))

let app: RunningApp | undefined
afterEach(async () => {
  await app?.close()
  app = undefined
})

async function launch(args: readonly string[], env: Record<string, string>) {
  const { DRAGOMAN_API_KEY: _, ...others } = process.env
  const child = spawn(process.execPath, [builtProgram, 'launch', ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...others, PATH: [join(home, 'bin'), process.env.PATH].join(delimiter), DRAGOMAN_HOME: home, ...env },
  })
  const texts = { out: '', err: '' }
  child.stdout.setEncoding('utf8').on('data', (piece: string) => {
    texts.out += piece
  })
  child.stderr.setEncoding('utf8').on('data', (piece: string) => {
    texts.err += piece
  })
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve))
  return { code, ...texts }
}

describe('launch where no server runs', () => {
  test('serves the model that is named for as long as the agent runs, under the usual names, too', async () => {
    // The key is one of another server.
    const { code, out, err } = await launch(['claude', '--model', long], { DRAGOMAN_SERVER: nowhere, DRAGOMAN_API_KEY: 'k' })
    expect(err).toContain('Claude Code runs on long, which is served as long as it runs')
    const got = JSON.parse(out)
    expect(got).toMatchObject({ model: 'long', context: 65_536, slots: 4, status: 200 })
    expect(code).toBe(0)
    await expect(fetch(got.url)).rejects.toThrow()
  })

  test('gives one of several models a shorter context, and fewer slots, where the memory is small', async () => {
    const config = join(home, 'small.json')
    const models = [
      { id: 'other', engine: 'llama', source: builtinModel.path },
      { id: 'mine', engine: 'llama', source: long },
    ]
    await writeFile(config, JSON.stringify({ memory: { budget: '480MB' }, models }))
    const { out, err } = await launch(['claude', '--config', config, '--model', 'mine'], { DRAGOMAN_SERVER: nowhere })
    const { model, slots, context, status } = out === '' ? expect.fail(err) : JSON.parse(out)
    expect([model, status]).toEqual(['mine', 200])
    expect(slots).toBeLessThan(4)
    expect(context).toBeGreaterThanOrEqual(24_400)
    expect(context).toBeLessThanOrEqual(48_896)
  })

  test('says that a model is too small, with its numbers and a way out, and starts nothing', async () => {
    const { code, out, err } = await launch(['claude', '--model', 'builtin:dragoman-tiny.gguf'], { DRAGOMAN_SERVER: nowhere })
    expect(err).toMatch(
      /context of dragoman-tiny is 4096 tokens, and Claude Code needs at least 24400: .*\. The model was trained for 4096 tokens: choose/,
    )
    expect({ code, out }).toEqual({ code: 1, out: '' })
  })

  test('proposes models where none is named: files that are here, and what fits the machine', async () => {
    await mkdir(join(home, 'models'), { recursive: true })
    const here = join(home, 'models', 'fetched.gguf')
    await writeTrainedFor(here, { from: builtinModel.path, tokens: 65_536 })
    const { code, err } = await launch(['claude'], { DRAGOMAN_SERVER: nowhere })
    expect(err).toContain(`dragoman launch claude --model ${here}\n    here, 4.6 MB, trained for 65536 tokens\n`)
    expect(err).toContain('dragoman launch claude --model builtin:dragoman-tiny.gguf')
    expect(code).toBe(1)
  })

  test('fails at once where a model cannot be fetched', async () => {
    const model = 'hf:o/r/m.gguf'
    const { code, err } = await launch(['claude', '--model', model], { DRAGOMAN_SERVER: nowhere, HF_ENDPOINT: nowhere })
    expect(err).toContain(`dragoman: ${model}: 127.0.0.1:9 cannot be reached`)
    expect(code).toBe(1)
  })
})

describe('launch on a running server', () => {
  const start = async (settings: object, apiKeys?: readonly object[]) => {
    app = await startApp({
      builtinModel: false,
      ...(apiKeys !== undefined && { server: { apiKeys } }),
      models: [{ id: 'm', engine: 'llama', source: long, aliases: ['claude-*'], load: 'demand', ...settings }],
    } as Parameters<typeof startApp>[0])
    return { DRAGOMAN_SERVER: app.url }
  }

  test('loads a model again whose context is too small for the agent, and says so', async () => {
    const env = await start({ contextLength: 8192 })
    const { out, err } = await launch(['claude'], env)
    expect(err).toContain(
      'dragoman: loading m with a context of 48896 tokens and slots: 4, because the context of m is 8192 tokens',
    )
    expect(JSON.parse(out)).toMatchObject({ model: 'm', context: 48_896, slots: 4, status: 200 })
  })

  test('loads a model that is not loaded yet, and leaves one with enough room as it is', async () => {
    const env = await start({})
    expect(JSON.parse((await launch(['claude'], env)).out)).toMatchObject({ context: 65_536, slots: 4, status: 200 })
  })

  test('with a key that may not load models, names the command that makes the room', async () => {
    const env = await start({ contextLength: 16_384, load: 'start' }, [{ key: 'k', scopes: ['inference'] }])
    const { out, err } = await launch(['claude'], { ...env, DRAGOMAN_API_KEY: 'k' })
    expect(err).toContain('when it can be, this does it: dragoman load m --context 48896 --slots 4')
    expect(JSON.parse(out)).toMatchObject({ context: 16_384, status: 200 })
  })
})
