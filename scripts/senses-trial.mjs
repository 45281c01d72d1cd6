// npm run senses-trial: whether the library for pictures and sound works on this machine. The built-in model is shown two circles, and counts them.

import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { crc32, deflateSync } from 'node:zlib'
import { ensureBuilt, ensureInstalled } from './bootstrap.mjs'
import { fail, root } from './commands.mjs'
import { ensureNode } from './node.mjs'

const size = 200
const circles = [
  [60, 50],
  [150, 130],
]
const reach = 30

await ensureNode()
await ensureInstalled()
await ensureBuilt()
const { createDragoman } = await import(pathToFileURL(join(root, 'dist', 'index.js')).href)
const dragoman = await createDragoman({ config: { storage: 'off' } })
const url = `data:image/png;base64,${drawing().toString('base64')}`
const content = [
  { type: 'image_url', image_url: { url } },
  { type: 'text', text: 'How many shapes are there?' },
]
const body = JSON.stringify({
  model: 'dragoman-tiny',
  messages: [{ role: 'user', content }],
  max_tokens: 20,
  reasoning_effort: 'none',
})
const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body }
const reply = await dragoman.fetch(new Request('http://localhost/v1/chat/completions', init))
const answer = await reply.text()
await dragoman.close()
if (!reply.ok || JSON.parse(answer).choices[0].message.content !== '2') fail(`the model does not see two circles: ${answer}`)
process.stdout.write('the built-in model sees two circles\n')

/** A PNG of red circles on white. */
function drawing() {
  const rows = Buffer.alloc(size * (1 + size * 3), 255)
  for (let y = 0; y < size; y += 1) {
    rows[y * (1 + size * 3)] = 0
    for (let x = 0; x < size; x += 1) {
      const isInside = circles.some(([cx, cy]) => Math.hypot(x + 0.5 - cx, y + 0.5 - cy) < reach)
      if (isInside) rows.set([214, 40, 40], y * (1 + size * 3) + 1 + x * 3)
    }
  }
  const head = Buffer.alloc(13)
  head.writeUInt32BE(size, 0)
  head.writeUInt32BE(size, 4)
  head.set([8, 2], 8)
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
  return Buffer.concat([signature, chunk('IHDR', head), chunk('IDAT', deflateSync(rows)), chunk('IEND', Buffer.alloc(0))])
}

function chunk(type, data) {
  const named = Buffer.concat([Buffer.from(type), data])
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)]
  length.writeUInt32BE(data.length)
  sum.writeUInt32BE(crc32(named))
  return Buffer.concat([length, named, sum])
}
