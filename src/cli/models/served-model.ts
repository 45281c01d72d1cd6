import type { WireModel } from '../../dialect/own/replies.ts'
import { formatBytes } from '../../registry/names/format-bytes.ts'
import { callServer, isServing, type ServerAddress } from '../servers/client.ts'

/** A model of the running server, by its id or an alias; undefined without a server that answers, or if it lacks the model. */
export async function findServed(server: ServerAddress, name: string): Promise<WireModel | undefined> {
  if (!(await isServing(server))) return undefined
  // A server of another kind, or one with another key, reports nothing about its models.
  const reply = (await callServer(server, '/api/server').catch(() => undefined)) as { models?: readonly WireModel[] } | undefined
  return reply?.models?.find(({ id, aliases }) => id === name || aliases.includes(name))
}

export function servedRows(model: WireModel, { url }: ServerAddress): [string, string | undefined][] {
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
