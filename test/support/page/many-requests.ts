import type { Page } from 'playwright-core'

const kept = 10_000
const perEvent = 500

/** What the server sends of as many requests as it keeps. */
export const manyRequests = Array.from({ length: kept / perEvent }, (_, batch) => {
  const requests = Array.from({ length: perEvent }, (_, index) => ended(perEvent * batch + index))
  return `event: requests\ndata: ${JSON.stringify({ requests, missed: 0, more: batch < kept / perEvent - 1 })}\n\n`
}).join('')

function ended(index: number) {
  return {
    id: `chatcmpl-${index}`,
    request_id: `req-${index}`,
    key: 'alice',
    route: '/v1/chat/completions',
    state: 'done',
    started_at_ms: 1_700_000_000_000 + index,
    ended_at_ms: 1_700_000_001_000 + index,
    model: 'org/writer',
    input_tokens: index,
    output_tokens: 100,
    timings: { decode_ms: 900, total_ms: 1000 },
  }
}

/** Goes from another place, which follows no events, to Activity, where these requests arrive. The stream after this one gets no answer. */
export async function openManyRequests(page: Page): Promise<void> {
  let isFirst = true
  await page.route('**/api/events*', async (route) => {
    if (isFirst) await route.fulfill({ contentType: 'text/event-stream', body: manyRequests })
    isFirst = false
  })
  await page.getByRole('link', { name: 'Activity', exact: true }).click()
  await page.locator(`table[aria-rowcount="${kept + 1}"]`).waitFor()
}

/** Scrolls down the table, a step in each frame; resolves with the rows that were added, and with the most elements that were there. */
export async function scrollTable(
  page: Page,
  { steps, px }: { readonly steps: number; readonly px: number },
): Promise<{ readonly added: number; readonly most: number }> {
  return (await page.evaluate(`new Promise((resolve) => {
    const room = document.querySelector('.table-room')
    let added = 0
    let most = 0
    let turn = 0
    const observer = new MutationObserver((changes) => {
      for (const { addedNodes } of changes) for (const { localName } of addedNodes) if (localName === 'tr') added += 1
    })
    observer.observe(room, { subtree: true, childList: true })
    const step = () => {
      most = Math.max(most, room.querySelectorAll('*').length)
      turn += 1
      room.scrollTop += ${px}
      if (turn < ${steps}) requestAnimationFrame(step)
      else requestAnimationFrame(() => requestAnimationFrame(() => resolve({ added, most })))
    }
    step()
  })`)) as { readonly added: number; readonly most: number }
}
