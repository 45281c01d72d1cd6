// A process that uses a store: `store-child.ts WORK`, with `WORK` as JSON. It prints `ready`, begins when its standard input ends, and
// then prints a line for each thing that is stored.
import { once } from 'node:events'
import { openStore } from '../../../src/store/open-store.ts'
import { item, items, response } from '../stored.ts'
import type { StoreWork } from './store-process.ts'

const { database, task }: StoreWork = JSON.parse(process.argv[2] ?? '')

console.log('ready')
process.stdin.resume()
await once(process.stdin, 'end')
const store = await openStore({ database })
switch (task.type) {
  case 'open':
    break
  case 'append':
    for (let group = 0; group < task.groups; group++) {
      const added = items(3)
      await store.conversations.add('ann', task.conversationId, added)
      console.log(added.map(({ id }) => id).join(' '))
    }
    break
  case 'save':
    for (const each of task.responses) await store.responses.save(each)
    break
  case 'save-until-killed':
    for (;;) {
      const text = 'x'.repeat(Math.random() * 100_000)
      const saved = response({ input: [item({ text }), ...items(2)], output: items(2) })
      await store.responses.save(saved)
      console.log(saved.id)
    }
}
await store.close()
