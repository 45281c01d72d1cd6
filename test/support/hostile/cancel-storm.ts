import { setTimeout as pause } from 'node:timers/promises'
import { generatingProtocols, type PostedStream, postStream, replyIdOf } from './storm.ts'

/** Where a storm goes: a server, the name of its model, and a command that cancels there by a cancel id. */
export type StormTarget = { readonly url: string; readonly model: string; cancelByCommand(cancelId: string): Promise<unknown> }

const routes = ['hang-up', 'cancel_id', 'session_id', 'reply id', 'header', 'background', 'command'] as const
type Route = (typeof routes)[number]

export type Protocol = (typeof generatingProtocols)[number]
type Question = { readonly protocol: Protocol; readonly prompt: string }

/** One stream of a storm: what it asks, and how and when it is cancelled. */
export type StormPlan = Question & {
  readonly index: number
  readonly isCancelled: boolean
  readonly route: Route
  readonly afterMs: number
}

export const stormPrompts = ['Hello', 'One two three', 'The sky is'] as const

const [, , responses] = generatingProtocols
/** Starting a process takes long: few are cancelled by one. */
const oneByCommandOf = 60

/** 4 of 5 are cancelled, at any time from before their arrival until after their end. */
export function planStorm(streams: number, random: () => number): readonly StormPlan[] {
  const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)] as T
  return Array.from({ length: streams }, (_, index) => {
    const isCancelled = index % 5 < 4
    const byCommand = index % oneByCommandOf === 0
    const route: Route = byCommand ? 'command' : pick(routes.slice(0, -1))
    const protocol = isCancelled && route === 'background' ? responses : pick(generatingProtocols)
    return { index, isCancelled, route, protocol, prompt: pick(stormPrompts), afterMs: byCommand ? 0 : random() * 600 }
  })
}

/** A streamed request of the storm that is not cancelled. */
export function askInStorm({ url, model }: StormTarget, { protocol, prompt }: Question): PostedStream {
  return postStream(`${url}${protocol.path}`, shortBody(model, { protocol, prompt }))
}

function shortBody(model: string, { protocol, prompt }: Question) {
  return {
    ...protocol.body(prompt),
    ...(protocol.idName === undefined ? { model_id: model } : { model, temperature: 0 }),
    stream: true,
  }
}

/** A cancelled one would go on for long. */
function longBody(model: string, question: Question): object {
  const limit = { max_tokens: 900, max_output_tokens: 900 }
  const body: Record<string, unknown> = shortBody(model, question)
  for (const [name, value] of Object.entries(limit)) if (name in body) body[name] = value
  const { idName } = question.protocol
  if (idName === undefined) body.sampling_params = { strategy: { type: 'greedy' }, max_tokens: 900 }
  return idName === 'completion_id' ? { ...body, ignore_eos: true } : body
}

/** Runs one stream of the storm to its end. */
export async function runInStorm(target: StormTarget, plan: StormPlan): Promise<PostedStream> {
  const { isCancelled, route, protocol, index, afterMs } = plan
  if (!isCancelled) {
    const stream = askInStorm(target, plan)
    await stream.ended
    return stream
  }
  const name = `run-${index}`
  const keys = route === 'header' ? {} : { cancel_id: name, session_id: `session-${index}` }
  const background = route === 'background' ? { background: true } : {}
  const headers = route === 'header' ? { 'x-dragoman-cancel-id': name } : undefined
  const body = { ...longBody(target.model, plan), ...keys, ...background }
  const stream = postStream(`${target.url}${protocol.path}`, body, headers)
  await pause(afterMs)
  await cancelBy(target, plan, stream)
  await stream.ended
  return stream
}

async function cancelBy(target: StormTarget, { route, protocol, index }: StormPlan, stream: PostedStream): Promise<void> {
  const post = async (path: string, body: object) => {
    const headers = { 'content-type': 'application/json' }
    await (await fetch(`${target.url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })).text()
  }
  const cancel = (keys: object) => post('/api/inference/cancel', keys)
  const isOver = stream.ended.then(() => true)
  const replyId = async () => {
    while (replyIdOf(stream.text()) === undefined && !(await Promise.race([isOver, pause(5, false)])));
    return replyIdOf(stream.text())
  }
  const { idName } = protocol
  switch (route) {
    case 'hang-up':
      return stream.hangUp()
    case 'cancel_id':
    case 'header':
      return cancel({ cancel_id: `run-${index}` })
    case 'session_id':
      return cancel({ session_id: `session-${index}` })
    case 'reply id':
      return cancel(idName === undefined ? { cancel_id: `run-${index}` } : { [idName]: await replyId() })
    case 'background':
      return post(`/v1/responses/${await replyId()}/cancel`, {})
    case 'command':
      await target.cancelByCommand(`run-${index}`)
  }
}
