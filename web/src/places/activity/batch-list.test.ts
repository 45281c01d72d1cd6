import { expect, test } from 'vitest'
import { type FileBatch, type MessageBatch, shownBatches } from './batch-list.ts'

const file: FileBatch = {
  id: 'batch_1',
  status: 'in_progress',
  created_at: 1,
  output_file_id: null,
  error_file_id: null,
  request_counts: { total: 10, completed: 3, failed: 1 },
  waiting: { reason: 'the limit of this key is reached' },
}
const messages: MessageBatch = {
  id: 'msgbatch_1',
  processing_status: 'ended',
  created_at: '1970-01-01T00:00:02Z',
  results_url: 'http://elsewhere/results',
  request_counts: { processing: 0, succeeded: 5, errored: 1, canceled: 2, expired: 2 },
}

test('batches of both protocols are shown alike, the newest first', () => {
  expect(shownBatches([file], [messages])).toMatchObject([
    {
      id: 'msgbatch_1',
      isOpen: false,
      total: 10,
      ended: 10,
      failed: 1,
      results: [{ path: 'v1/messages/batches/msgbatch_1/results' }],
    },
    { id: 'batch_1', isOpen: true, total: 10, ended: 4, failed: 1, waits: 'the limit of this key is reached', results: [] },
  ])
})

test('the files of a batch are saved by what they have', () => {
  const [batch] = shownBatches([{ ...file, status: 'completed', output_file_id: 'file-1', error_file_id: 'file-2' }], [])
  expect(batch?.results).toEqual([
    { path: 'v1/files/file-1/content', name: 'batch_1_output.jsonl', areFailures: false },
    { path: 'v1/files/file-2/content', name: 'batch_1_error.jsonl', areFailures: true },
  ])
})
