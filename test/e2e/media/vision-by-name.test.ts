import { cp, mkdir, rm } from 'node:fs/promises'
import { basename, delimiter, dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { builtinFile, builtinModel } from '../../../src/registry/names/builtin-model.ts'
import { until } from '../../support/http/app.ts'
import { type LoadingApp, startLoadingApp } from '../../support/http/loading-app.ts'
import { llamaServerBinary, llamaServerHint } from '../../support/llama/llama-server.ts'
import { drawing } from '../../support/pictures.ts'
import { openHub } from '../../support/upstream/hub.ts'

// Loads of real models, on a machine that does other things too.
vi.setConfig({ testTimeout: 90_000, hookTimeout: 30_000 })

const red = drawing({
  size: [64, 64],
  ground: [255, 255, 255],
  paint: [214, 40, 40],
  kind: 'square',
  shapes: [{ x: 32, y: 32, reach: 20 }],
})

describe.skipIf(llamaServerBinary === undefined)(`a model with a projector beside it${llamaServerHint}`, () => {
  let app: LoadingApp
  beforeAll(async () => {
    vi.stubEnv('PATH', [dirname(llamaServerBinary ?? ''), process.env.PATH].join(delimiter))
    app = await startLoadingApp()
  })
  afterAll(async () => {
    await app.close()
    vi.unstubAllEnvs()
  })

  async function folderWith(name: string): Promise<string> {
    const folder = join(app.modelsFolder, '..', `${name}-${process.pid}`)
    await mkdir(folder)
    await cp(builtinModel.path, join(folder, `${name}-Q8_0.gguf`))
    await cp(builtinFile('dragoman-tiny-mmproj.gguf') ?? '', join(folder, 'mmproj-F16.gguf'))
    onTestFinished(() => rm(folder, { recursive: true }))
    return folder
  }
  const small = { max_seq_length: 512, n_parallel: 1 }
  const look = async (model: string) => {
    const url = `data:image/png;base64,${red.toString('base64')}`
    const content = [
      { type: 'image_url', image_url: { url } },
      { type: 'text', text: 'What colour?' },
    ]
    const body = { model, messages: [{ role: 'user', content }], max_tokens: 4, reasoning_effort: 'none' }
    return (await app.send('/v1/chat/completions', body)).status
  }

  test('in a folder reads pictures on llama-server, and tells so before', async () => {
    const model_path = await folderWith('seen')
    expect((await app.call('/validate', { model_path })).body).toMatchObject({ valid: true, is_vision: true })
    expect((await app.call('/load', { model_path, ...small })).body).toMatchObject({ status: 'loaded', is_vision: true })
    expect((await app.call('/load', { model_path, ...small })).body).toMatchObject({ status: 'already_loaded' })
    const id = basename(model_path)
    expect(await look(id)).toBe(200)
    const blind = await app.call('/load', { model_path, ...small, disable_vision: true })
    expect(blind.body).toMatchObject({ status: 'loaded', is_vision: false })
    expect(await look(id)).toBe(400)
    await app.call('/unload', { model_path })
  })

  test('in a repository is fetched with it', async () => {
    const hub = await openHub()
    const model_path = 'owner/vision'
    expect((await app.call('/validate', { model_path })).body).toMatchObject({ is_vision: true })
    expect((await app.call('/load', { model_path, ...small })).body).toMatchObject({ model: model_path, is_vision: true })
    expect(hub.seen.map(({ url }) => url).filter((url) => url.includes('/resolve/'))).toEqual([
      '/owner/vision/resolve/main/mmproj-F16.gguf',
      '/owner/vision/resolve/main/x-Q4_K_M.gguf',
    ])
    expect(await look(model_path)).toBe(200)
    await app.call('/unload', { model_path })
    expect((await app.call('/validate', { model_path: 'owner/text' })).body).toMatchObject({ is_vision: false })
  })

  test('in the models folder reads pictures under its name', async () => {
    await cp(await folderWith('later'), join(app.modelsFolder, 'later'), { recursive: true })
    await until(async () => (await app.states()).includes('later-Q8_0: stopped'))
    expect((await app.call('/load', { model_path: 'later-Q8_0', ...small })).body).toMatchObject({ is_vision: true })
    expect(await look('later-Q8_0')).toBe(200)
  })

  test('that a load demands and that is not there is a 400 of that field', async () => {
    const reply = await app.send('/v1/model/load', { model_name: 'tiny', vision: true })
    expect(reply.status).toBe(400)
    expect(await reply.json()).toMatchObject({ error: { param: 'vision', message: expect.stringContaining('projector') } })
  })
})
