import { formatBytes } from '../../registry/names/format-bytes.ts'
import { callServer, isServing, type ServerAddress } from '../servers/client.ts'

/** The fields of a model in `GET /api/server` that the terminal shows. */
type ServedModel = {
  readonly id: string
  readonly aliases: readonly string[]
  readonly state: string
  readonly reason?: string
  readonly engine?: string
  readonly added?: boolean
  readonly quantization?: string
  readonly file_bytes?: number
  readonly memory_bytes?: number
  readonly context_length?: number
  readonly native_context_length?: number
  readonly slots: number
  readonly running: number
  readonly waiting: number
  readonly abilities: readonly string[]
  readonly servers?: readonly { readonly host: string; readonly state: string; readonly running: number }[]
}

/** A model of the running server, by its id or an alias; undefined without a server that answers, or if it lacks the model. */
export async function findServed(server: ServerAddress, name: string): Promise<ServedModel | undefined> {
  if (!(await isServing(server))) return undefined
  // A server of another kind, or one with another key, reports nothing about its models.
  const reply = (await callServer(server, '/api/server').catch(() => undefined)) as
    | { models?: readonly ServedModel[] }
    | undefined
  return reply?.models?.find(({ id, aliases }) => id === name || aliases.includes(name))
}

export function servedRows(model: ServedModel, { url }: ServerAddress): [string, string | undefined][] {
  const { aliases, state, reason, engine, quantization, abilities, servers } = model
  const { file_bytes: file, memory_bytes: memory, context_length: context, native_context_length: native } = model
  const bytes = (value: number | undefined) => (value === undefined || value === 0 ? undefined : formatBytes(value))
  return [
    ['model', model.id],
    ['aliases', aliases.length === 0 ? undefined : aliases.join(', ')],
    ['server', url],
    ['state', reason === undefined ? state : `${state}: ${reason}`],
    ['engine', engine],
    ['file', [quantization, bytes(file)].filter((part) => part !== undefined).join(', ') || undefined],
    ['memory', bytes(memory)],
    ['context', context === undefined ? undefined : `${context} tokens`],
    ['trained for', native === undefined ? undefined : `${native} tokens`],
    ['for', abilities.length === 0 ? undefined : abilities.join(', ')],
    ['requests', `${model.running} of ${model.slots} run, ${model.waiting} wait`],
    ...(servers ?? []).map(({ host, state, running }): [string, string] => ['replica', `${host}: ${state}, ${running} run`]),
  ]
}
