import { createFakeEngine } from '../src/engine/fake/engine.ts'
import { describeEngineContract } from './engine-contract.ts'

describeEngineContract('fake', {
  create: async () => createFakeEngine({ script: 'from-request', contextLength: 2048 }),
  longPrompt: JSON.stringify({ chunks: Array.from({ length: 250 }, (_, index) => ` word${index}`) }),
})
