import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { startApp, until } from '../../../test/support/http/app.ts'
import { builtinModel } from '../../registry/names/builtin-model.ts'

async function openFolder() {
  const folder = await mkdtemp(join(tmpdir(), 'dragoman-models-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  return folder
}

async function open(settings: Parameters<typeof startApp>[0]) {
  const app = await startApp({ builtinModel: false, ...settings })
  onTestFinished(() => app.close())
  const ids = async () => {
    const { data } = (await (await fetch(`${app.url}/v1/models`)).json()) as { data: { id: string; state: string }[] }
    return data.map(({ id, state }) => `${id}: ${state}`)
  }
  const chat = (model: string) =>
    fetch(`${app.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello' }], max_tokens: 4, temperature: 0 }),
    })
  return { ids, chat }
}

test('a file that is copied into the models folder is listed, and a request by its name loads it', async () => {
  const modelsFolder = await openFolder()
  const { ids, chat } = await open({ modelsFolder })
  expect(await ids()).toEqual([])
  await mkdir(join(modelsFolder, 'tiny'))
  await cp(builtinModel.path, join(modelsFolder, 'tiny', 'new-model.gguf'))
  await until(async () => (await ids()).join() === 'new-model: stopped')
  const reply = await chat('tiny')
  expect(reply.status).toBe(200)
  expect(await reply.json()).toMatchObject({ model: 'new-model', usage: { completion_tokens: 4 } })
  expect(await ids()).toEqual(['new-model: ready'])
  await rm(join(modelsFolder, 'tiny'), { recursive: true })
  await until(async () => (await ids()).length === 0)
  expect((await chat('tiny')).status).toBe(404)
})

test('a model of the configuration keeps its name and its file', async () => {
  const modelsFolder = await openFolder()
  const source = join(modelsFolder, 'configured.gguf')
  await Promise.all(['configured.gguf', 'echo.gguf', 'other.gguf'].map((name) => writeFile(join(modelsFolder, name), 'GGUF')))
  const { ids } = await open({
    modelsFolder,
    models: [
      { engine: 'fake', id: 'echo', script: 'from-request' },
      { engine: 'llama', id: 'mine', source, load: 'demand' },
    ],
  })
  expect(await ids()).toEqual(['echo: ready', 'mine: stopped', 'other: stopped'])
})

test('a folder that cannot be read is an error of the start', async () => {
  await expect(startApp({ modelsFolder: '/nowhere/models' })).rejects.toThrow("modelsFolder '/nowhere/models' cannot be read")
})
