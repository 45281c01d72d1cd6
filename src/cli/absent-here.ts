import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createServer } from 'node:net'
import { explainListenError } from '../app/serving/listen-error.ts'
import type { LoadedConfig } from '../config/load.ts'
import type { ConfiguredModel } from '../config/models.ts'
import { messageOf } from '../contract/errors.ts'
import type { Source } from '../registry/names/sources.ts'

type Env = Readonly<Record<string, string | undefined>>

/** The things that a valid configuration names and this machine lacks: files, variables and the address. A server would not start, or not serve a model. */
export async function absentHere(config: LoadedConfig, env: Env): Promise<readonly string[]> {
  const { modelsFolder, templates, listings } = config
  const folders = Object.entries({ modelsFolder, templates }).flatMap(([name, path]) => absentFile(name, path))
  const models = config.models.flatMap((model) => absentOfModel(model, env).map((what) => `model '${model.id}': ${what}`))
  const servers = listings.flatMap(({ from }) => absentVariable(from.apiKeyEnv, env).map((what) => `${from.url}: ${what}`))
  return [...(await absentAddress(config.server.host)), ...folders, ...models, ...servers]
}

function absentOfModel(model: ConfiguredModel, env: Env): readonly string[] {
  const template = absentFile('chatTemplate', model.chatTemplate)
  switch (model.engine) {
    case 'fake':
      return [...template, ...(model.script === 'from-request' ? [] : absentFile('script', model.script))]
    case 'remote': {
      const ofEndpoints = model.endpoints.flatMap(({ file, apiKeyEnv }) => [
        ...absentFile('endpoints', file),
        ...absentVariable(apiKeyEnv, env),
      ])
      return [...template, ...new Set(ofEndpoints)]
    }
    case 'llama':
    case 'llama-server': {
      const { source, adapters = [], draft } = model
      const loras = adapters.flatMap((adapter) => absentSource('adapters', adapter.source))
      const projector = model.mmproj === 'none' ? [] : absentSource('mmproj', model.mmproj)
      return [...template, ...absentSource('source', source), ...loras, ...absentSource('draft', draft?.source), ...projector]
    }
  }
}

/** Sources are alternatives; others than paths are fetched. */
function absentSource(setting: string, sources: readonly Source[] = []): readonly string[] {
  const paths = sources.flatMap((source) => (source.type === 'path' ? [source.path] : []))
  if (paths.length < sources.length || paths.some((path) => existsSync(path))) return []
  return paths.flatMap((path) => absentFile(setting, path))
}

function absentFile(setting: string, path: string | undefined): readonly string[] {
  return path === undefined || existsSync(path) ? [] : [`${setting}: there is no '${path}'`]
}

function absentVariable(name: string | undefined, env: Env): readonly string[] {
  return name === undefined || (env[name] ?? '') !== '' ? [] : [`the environment variable ${name} is not set`]
}

async function absentAddress(host: string): Promise<readonly string[]> {
  const listener = createServer().listen(0, host)
  try {
    await once(listener, 'listening')
    return []
  } catch (error) {
    return [messageOf(explainListenError(error, { host, port: 0 }))]
  } finally {
    listener.close()
  }
}
