import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { builtinModel } from '../../../src/registry/names/builtin-model.ts'
import { type RunningApp, startApp } from './app.ts'

type Init = { readonly key?: string; readonly signal?: AbortSignal }

/** A server with a fake model `echo`, and `tiny.gguf` in its models folder; `admin` and `other` are keys of administrators. Close it. */
export async function startLoadingApp() {
  const modelsFolder = await mkdtemp(join(tmpdir(), 'dragoman-models-'))
  await cp(builtinModel.path, join(modelsFolder, 'tiny.gguf'))
  const app: RunningApp = await startApp({
    builtinModel: false,
    modelsFolder,
    models: [{ engine: 'fake', id: 'echo', script: 'from-request' }],
    server: { adminKey: 'admin', apiKeys: ['user', { key: 'other', name: 'other', scopes: ['admin'] }] },
  })

  function send(path: string, body?: object, { key = 'admin', signal }: Init = {}) {
    return fetch(`${app.url}${path}`, {
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
      ...(signal !== undefined && { signal }),
    })
  }

  /** A route of Unsloth's, below `/api/inference`. */
  async function call(path: string, body?: object, init?: Init) {
    const response = await send(`/api/inference${path}`, body, init)
    return { status: response.status, body: (await response.json()) as Record<string, unknown> }
  }

  return {
    url: app.url,
    home: app.home,
    logLines: app.logLines,
    modelsFolder,
    send,
    call,
    /** Each model with its state: `tiny: stopped`. */
    async states(): Promise<readonly string[]> {
      const { body } = await call('/status')
      return (body.models as { id: string; state: string }[]).map(({ id, state }) => `${id}: ${state}`)
    },
    async close(): Promise<void> {
      await app.close()
      await rm(modelsFolder, { recursive: true })
    },
  }
}

export type LoadingApp = Awaited<ReturnType<typeof startLoadingApp>>
