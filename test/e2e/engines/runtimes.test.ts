import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { until } from '../../support/http/app.ts'
import { serveReleases, wrapped } from '../../support/llama/llama-releases.ts'
import { llamaServerBinary, llamaServerHint } from '../../support/llama/llama-server.ts'
import { randomModel } from '../../support/llama/models.ts'
import { writeRandomModel } from '../../support/llama/random-gguf.ts'
import { useCommandLine } from '../../support/process/command-line.ts'

const cli = useCommandLine()
const binary = llamaServerBinary ?? ''
const settings = { contextLength: 512, slots: 1, threads: 1 }

async function configure(source: string, models: readonly object[]): Promise<string> {
  const file = join(cli.home, 'c.json')
  await writeFile(file, JSON.stringify({ runtimes: { source }, builtinModel: false, models }))
  return file
}

async function ask(url: string, model: string) {
  const body = JSON.stringify({ model, prompt: 'Hello', max_tokens: 4, seed: 1 })
  const response = await fetch(`${url}/v1/completions`, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  return { status: response.status, body: await response.json() }
}

describe.skipIf(llamaServerBinary === undefined)(`builds of llama.cpp${llamaServerHint}`, () => {
  test('a build from a mirror runs the models that name no program', async () => {
    const { source, name } = await serveReleases({ program: { path: binary } })
    const models = [{ id: 'm', engine: 'llama-server', source: await randomModel(), ...settings }]
    const config = await configure(source, models)
    const got = await cli.run(['runtime', 'get', '-c', config])
    expect(got).toMatchObject({ code: 0, out: `${join(cli.home, 'runtimes', name, 'llama-b9993', 'llama-server')}\n` })
    expect((await cli.run(['runtime', 'list', '-c', config])).out).toMatch(/^b9993-cpu +in use +[\d.]+ MB /m)
    expect((await cli.run(['runtime', 'list', '--offered', '-c', config])).out).toMatch(/^b9993-cpu +cpu +[\d.]+ MB$/m)
    const server = await cli.serve(['-c', config], { PATH: '/nowhere' })
    expect(await ask(server.url, 'm')).toMatchObject({ status: 200 })
    expect((await cli.run(['runtime', 'remove', name, '-c', config])).err).toContain('it was in use')
  })

  test('a model that the embedded engine does not know runs on the build in use, and the log and the list say so', async () => {
    const model = join(cli.home, 'unknown.gguf')
    const architecture = new Map([['general.architecture', { type: 'string', value: 'of-tomorrow' } as const]])
    await writeRandomModel(model, { moreMetadata: architecture })
    const { source } = await serveReleases({ program: { script: wrapped(binary, await randomModel()) } })
    const config = await configure(source, [{ id: 'm', engine: 'llama', source: model, load: 'demand', ...settings }])
    const server = await cli.serve(['-c', config, '--log-level', 'info'])
    const refused = await ask(server.url, 'm')
    expect(refused.status).toBe(503)
    expect(JSON.stringify(refused.body)).toMatch(/of-tomorrow.*does not know it: `dragoman runtime get` fetches the newest/)
    // The server notices a build that comes while it runs.
    expect((await cli.run(['runtime', 'get', '-c', config])).code).toBe(0)
    await until(async () => (await ask(server.url, 'm')).status === 200)
    const { data } = (await (await fetch(`${server.url}/v1/models`)).json()) as { data: readonly { runs_on?: string }[] }
    const why = /b9993-cpu\S+, since the embedded engine cannot run it: .*of-tomorrow/
    expect(data[0]?.runs_on).toMatch(why)
    expect(server.err()).toMatch(why)
    const { models } = (await (await fetch(`${server.url}/api/server`)).json()) as { models: readonly { runs_on?: string }[] }
    expect(models[0]?.runs_on).toMatch(why)
  })
})
