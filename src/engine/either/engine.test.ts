import { expect, test } from 'vitest'
import type { Engine, EngineFacts, EngineState } from '../../contract/engine.ts'
import type { GenerationRequest } from '../../contract/request.ts'
import { ObservedState } from '../shared/observed-state.ts'
import { EitherEngine, type EngineChoice } from './engine.ts'

const never = new AbortController().signal
const seeing = { image: true, audio: false }
const blind = { image: false, audio: false }

/** An engine that loads at once, and notes what is done to it. */
function scripted(facts: EngineFacts = {}) {
  const observed = new ObservedState()
  const notes: string[] = []
  const become = (state: EngineState) => {
    observed.current = state
  }
  const engine: Engine = {
    get state() {
      return observed.current
    },
    onState: observed.observe,
    facts,
    capabilities: {},
    ensureReady: async () => {
      notes.push('load')
      become({ type: 'starting' })
      become({ type: 'ready' })
    },
    prepare: async () => ({ run: async () => void notes.push('run') }),
    unload: async () => {
      notes.push('unload')
      become({ type: 'stopped' })
    },
    close: async () => void notes.push('close'),
  }
  return { engine, notes, become }
}

function either(choices: readonly EngineChoice[], look: EngineChoice = { engine: 'first' }) {
  const first = scripted({ modalities: blind })
  const second = scripted({ modalities: seeing })
  const left = [...choices]
  const engine = new EitherEngine({
    id: 'm',
    first: first.engine,
    createSecond: () => second.engine,
    look: async () => look,
    choose: async () => left.shift() ?? look,
  })
  const states: string[] = []
  engine.onState(({ type }) => states.push(type))
  return { engine, first, second, states }
}

const withPart = (kind: 'image' | 'audio' | 'video') =>
  ({
    prompt: {
      type: 'chat',
      messages: [{ role: 'user', content: [{ type: 'media', kind, source: { type: 'bytes', bytes: new Uint8Array() } }] }],
      tools: [],
    },
  }) as unknown as GenerationRequest

test('the chosen engine loads, once for requests that come together', async () => {
  const { engine, first, second, states } = either([{ engine: 'second' }])
  await Promise.all([engine.ensureReady(never), engine.prepare(withPart('image'), never)])
  expect(first.notes).not.toContain('load')
  expect(second.notes).toEqual(['load'])
  expect(engine.state).toEqual({ type: 'ready' })
  expect(states.at(-1)).toBe('ready')
  expect(engine.facts.modalities).toEqual(seeing)
})

test('the choice is made again when the model is loaded again', async () => {
  const { engine, first, second } = either([{ engine: 'second' }, { engine: 'first' }])
  await engine.ensureReady(never)
  await engine.ensureReady(never)
  await engine.unload({ drainMs: 0 })
  await engine.ensureReady(never)
  expect(second.notes).toEqual(['load', 'load', 'unload', 'unload'])
  expect(first.notes).toEqual(['unload', 'load'])
  second.become({ type: 'failed', reason: 'of no interest' })
  expect(engine.state).toEqual({ type: 'ready' })
})

test('before it is loaded, a model reads what the choice says, and a refusal says why', async () => {
  const mediaProblem = '`npm run senses` builds the library'
  const { engine } = either([], { engine: 'first', modalities: blind, mediaProblem })
  expect(engine.facts.modalities).toBeUndefined()
  await new Promise(setImmediate)
  expect(engine.facts).toMatchObject({ modalities: blind, mediaProblem })
  expect(() => engine.checkMedia(withPart('image'))).toThrow(
    "model 'm' cannot read parts of type 'image': `npm run senses` builds the library",
  )
})

test('videos are read as pictures, and other kinds are refused', async () => {
  const { engine } = either([], { engine: 'first', modalities: seeing })
  await new Promise(setImmediate)
  engine.checkMedia(withPart('image'))
  engine.checkMedia(withPart('video'))
  expect(() => engine.checkMedia(withPart('audio'))).toThrow('its multimodal projector has no part for them')
})

test('a model that the first engine cannot run moves to the second, and nobody sees the failure', async () => {
  const first = scripted()
  const second = scripted({ modalities: seeing })
  const failing: Engine = {
    ...first.engine,
    onState: first.engine.onState,
    get state() {
      return first.engine.state
    },
    ensureReady: async () => {
      first.become({ type: 'failed', reason: 'unknown' })
      throw new Error('unknown')
    },
    prepare: async () => {
      await failing.ensureReady(never)
      throw new Error('unreachable')
    },
  }
  const asked: unknown[] = []
  const engine = new EitherEngine({
    id: 'm',
    first: failing,
    createSecond: () => second.engine,
    look: async () => ({ engine: 'first' }),
    isForSecond: (reason) => reason === 'unknown',
    choose: async (_, failure) => {
      asked.push(failure)
      return failure === undefined ? { engine: 'first' } : { engine: 'second', runsOn: 'a server, since …' }
    },
  })
  const states: string[] = []
  engine.onState(({ type }) => states.push(type))
  await Promise.all([engine.ensureReady(never), engine.prepare(withPart('image'), never)])
  expect(asked).toEqual([undefined, 'unknown'])
  expect(second.notes).toContain('load')
  expect(states).not.toContain('failed')
  expect(engine.facts).toMatchObject({ runsOn: 'a server, since …', modalities: seeing })
})

test('a model that is unloaded during the choice does not start', async () => {
  const { engine, second, states } = either([{ engine: 'second' }])
  const loading = engine.ensureReady(never)
  const unloading = engine.unload({ drainMs: 0 })
  await expect(loading).rejects.toMatchObject({ code: 'shutting-down' })
  await unloading
  expect(second.notes).not.toContain('load')
  await new Promise(setImmediate)
  expect(states.at(-1)).toBe('stopped')
})

test('a caller that leaves during the choice leaves the model as it was', async () => {
  const { engine } = either([{ engine: 'second' }])
  const leaving = new AbortController()
  const loading = engine.ensureReady(leaving.signal)
  leaving.abort(new Error('left'))
  await expect(loading).rejects.toThrow('left')
  await new Promise(setImmediate)
  await new Promise(setImmediate)
  expect(engine.state).toEqual({ type: 'stopped' })
})
