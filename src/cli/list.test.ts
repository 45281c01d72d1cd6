import { expect, test } from 'vitest'
import { formatModels } from './list.ts'

test.each([
  ['no model', [], 'MODEL  STATE  CONTEXT  ALSO CALLED'],
  [
    'models whose columns differ in width, and a context that is not known',
    [
      { id: 'a-long-name', state: 'ready', context_length: 8192, aliases: ['default', 'gpt-*'] },
      { id: 'b', state: 'stopped', aliases: [] },
      { id: 'of-another-server' },
    ],
    [
      'MODEL              STATE    CONTEXT  ALSO CALLED',
      'a-long-name        ready    8192     default, gpt-*',
      'b                  stopped  -',
      'of-another-server  -        -',
    ].join('\n'),
  ],
])('the table of %s', (_, models, table) => {
  expect(formatModels(models)).toBe(table)
})
