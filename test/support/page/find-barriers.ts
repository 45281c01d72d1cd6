import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

type Finding = { readonly id: string; readonly impact: string; readonly nodes: readonly { readonly html: string }[] }

/** Serious barriers that axe finds on a page, in words. It runs in the page's world, where the page's policy has no say. */
export async function findBarriers(page: Page): Promise<string[]> {
  await run(page, axe)
  const found = (await page.evaluate(
    'axe.run(document, { resultTypes: ["violations"] }).then(({ violations }) => violations)',
  )) as Finding[]
  return found
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 200)).join(' ')}`)
}

/** The inspector of WebKit takes less than this program at a time. */
async function run(page: Page, program: string): Promise<void> {
  const most = 100_000
  await page.evaluate('void (window.program = "")')
  for (let from = 0; from < program.length; from += most) {
    await page.evaluate(`void (window.program += ${JSON.stringify(program.slice(from, from + most))})`)
  }
  await page.evaluate('(0, eval)(window.program)')
}
