import { describeEngineContract } from '../../engine-contract.ts'
import { randomModel } from '../../support/llama/models.ts'
import { engineOverDragoman } from '../../support/upstream/over-dragoman.ts'

const script = JSON.stringify({ chunks: Array.from({ length: 250 }, (_, index) => ` word${index}`) })
const scripted = { id: 'up', engine: 'fake', script: 'from-request', contextLength: 2048 } as const

const source = '{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}assistant:'
const story = 'Tell me a long story about the sea.'
const randomWriter = async () =>
  ({ id: 'up', engine: 'llama', source: await randomModel(), contextLength: 2048, threads: 1 }) as const

describeEngineContract('remote, over another Dragoman', {
  longPrompt: story,
  create: async () => engineOverDragoman(await randomWriter()),
})

describeEngineContract('remote, over the Responses of another Dragoman', {
  longPrompt: story,
  create: async () => engineOverDragoman(await randomWriter(), { protocol: 'responses' }),
})

describeEngineContract('remote, over the completions of another Dragoman', {
  longPrompt: story,
  create: async () =>
    engineOverDragoman(await randomWriter(), { protocol: 'completions', readTemplate: async () => ({ source }) }),
})

describeEngineContract('remote, over the Messages of another Dragoman', {
  longPrompt: script,
  lacks: ['ignoreEos', 'logprobs'],
  create: () => engineOverDragoman(scripted, { protocol: 'messages' }),
})
