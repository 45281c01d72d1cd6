import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'
import { lacks } from './open-page.ts'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

type Finding = { readonly id: string; readonly impact: string; readonly nodes: readonly { readonly html: string }[] }

/** Serious barriers that axe finds on a page, in words. It runs in the page's world, where the page's policy has no say. */
export async function findBarriers(page: Page): Promise<string[]> {
  // It is more than an inspector takes at a time.
  if (lacks('a large message')) return []
  await page.evaluate(axe)
  const found = (await page.evaluate(
    'axe.run(document, { resultTypes: ["violations"] }).then(({ violations }) => violations)',
  )) as Finding[]
  return found
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 200)).join(' ')}`)
}
