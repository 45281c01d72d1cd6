import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { follow, type Machine } from '../../support/guides/stranger.ts'
import { hasNginx } from '../../support/process/nginx.ts'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const isIsolated = spawnSync('bwrap', ['--ro-bind', '/', '/', '--unshare-user', '--unshare-net', 'true']).status === 0
const support = `${root}test/support/guides`

const machines: Readonly<Record<string, Machine>> = {
  'docs/guides/three-vllms.md': {
    before: `for each in 1 2 3; do ip address add 10.0.0.$each/32 dev lo; done
      dragoman serve --config ${support}/vllm.yaml > /dev/null 2>&1 & node ${support}/vllms.mjs &`,
  },
}
const pages = ['README.md', 'docs/tutorial.md', ...readdirSync(`${root}docs/guides`).map((name) => `docs/guides/${name}`)]

describe.skipIf(!isIsolated)('a stranger with an empty home follows a page word by word (needs bubblewrap)', () => {
  test.for(pages)('%s', { timeout: 150_000 }, async (page, { skip }) => {
    if (page.endsWith('nginx.md') && !(hasNginx && process.getuid?.() === 0)) skip('nginx needs to be installed, and root')
    expect(await follow(page, machines[page])).toEqual([])
  })
})
