#!/usr/bin/env node
import { existsSync } from 'node:fs'
import { isSupportedNode, oldestNode } from './node-version.ts'

const { node } = process.versions
/** Exists only in a checkout, which has a Node.js of its own. */
const scripts = new URL('../../scripts/node.mjs', import.meta.url)

// With an older Node.js, an import could fail before this explains why.
if (isSupportedNode(node)) {
  const { bundleOf } = await import('../bundles/bundle-of.ts')
  const bundle = bundleOf('main')
  await (bundle === undefined ? import('./main.ts') : import(bundle.href))
} else if (existsSync(scripts)) await (await import(scripts.href)).ensureNode()
else {
  console.error(`dragoman: Node.js ${oldestNode} or later is needed, and this is ${node} (${process.execPath})`)
  process.exitCode = 1
}
