import type { LoadedConfig } from '../config/load.ts'
import type { ModelSummary } from '../contract/server/catalogue.ts'
import { builtinModel, defaultModel } from '../registry/names/builtin-model.ts'
import { formatBytes } from '../registry/names/format-bytes.ts'
import { type Machine, suggestModels } from '../registry/names/suggested-models.ts'
import { commandName } from './terminal/command-name.ts'
import { formatTable } from './terminal/table.ts'

/** How clients get a key of this server: made by this start, made earlier, or configured. */
export type KeyFacts = { readonly createdKey: string | undefined; readonly source: 'none' | 'file' | 'config' }

export function fetchNotice({ models }: LoadedConfig, id: string): string {
  const { standIn, aliases } = models.find((model) => model.id === id) ?? {}
  const meanwhile = standIn === undefined ? '' : `; until it is ready, ${standIn} serves ${aliases?.join(', ')}`
  return `fetching ${id}${meanwhile}`
}

export function keyNotice(key: string): string {
  return [
    'This server is reachable from other machines and requires an API key, which is shown only once:',
    `  ${key}`,
    `Clients send it as \`Authorization: Bearer …\`. If it is lost, \`${commandName} keys new\` makes another.`,
  ].join('\n')
}

/** What is served and where, once everything to load at start is ready or has failed. */
export function serverTable(url: string, models: readonly ModelSummary[], { createdKey, source }: KeyFacts): string {
  const rows = models.map(({ id, aliases, state, contextLength }) => {
    return [id, state.type, contextLength === undefined ? '-' : `${contextLength}`, aliases.join(', ')]
  })
  const keys = { none: 'none is asked for', file: `${commandName} keys list`, config: 'those of the configuration' }[source]
  const facts = [
    `address  ${reachableAt(url)}, for clients of OpenAI ${reachableAt(url)}/v1`,
    `keys     ${createdKey === undefined ? keys : 'the one above'}`,
  ]
  return `\n${[...facts, '', formatTable(['MODEL', 'STATE', 'CONTEXT', 'ALSO CALLED'], rows)].join('\n')}`
}

/** Whether a model only demonstrates that everything works. */
export function isToy(id: string): boolean {
  return id === defaultModel.id || id === builtinModel.id
}

/** The purpose of such a model, and what fits this machine better. */
export function toyNotice(id: string, machine: Machine): string {
  const what = id === defaultModel.id ? 'a toy of 135 million parameters' : 'a toy of 4 million parameters'
  const [better] = suggestModels(machine)
  const advice =
    better === undefined
      ? 'Serve another one with --model.'
      : `This machine can run ${better.name} (about ${formatBytes(better.sizeBytes)}):\n  ${commandName} serve --model ${better.shortName}`
  return `${id} is ${what}: it shows that everything works, and often answers wrongly. ${advice}`
}

/** An example request that works as printed. */
export function tryItNotice(url: string, model: ModelSummary, key: KeyFacts): string {
  const name = model.aliases.includes('default') ? 'default' : model.id
  const body = JSON.stringify({ model: name, stream: true, messages: [{ role: 'user', content: 'Say hello.' }] })
  const reachable = reachableAt(url)
  return [
    `\n${model.id} is ready. Try it:\n`,
    ...keyLines(key),
    `  curl -N ${reachable}/v1/chat/completions -H 'content-type: application/json' ${authorization(key)}\\`,
    `    -d '${body}'\n`,
  ].join('\n')
}

/** Where to find the page. */
export function pageNotice(url: string): string {
  return `Or chat in a browser: ${reachableAt(url)}/\n`
}

/** How this machine reaches an address such as 0.0.0.0, which is not one to connect to. */
function reachableAt(url: string): string {
  return url.replace(/\/\/(0\.0\.0\.0|\[::\])/, '//127.0.0.1')
}

function authorization({ createdKey, source }: KeyFacts): string {
  if (source === 'none') return ''
  return createdKey === undefined ? '-H "authorization: Bearer $DRAGOMAN_API_KEY" ' : `-H 'authorization: Bearer ${createdKey}' `
}

/** The server knows only the hash of an earlier key. */
function keyLines({ createdKey, source }: KeyFacts): string[] {
  if (createdKey !== undefined || source === 'none') return []
  if (source === 'config') return ['  # DRAGOMAN_API_KEY must be a key of this server: one of server.apiKeys']
  return ['  # your key, or another one:', `  export DRAGOMAN_API_KEY="$(${commandName} keys new)"`]
}
