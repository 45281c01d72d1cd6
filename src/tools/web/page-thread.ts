import { htmlToMarkdown } from '@mdream/js'
import { serveRequests } from '../../threads/thread-reply.ts'

/** Elements without content: navigation, controls, and what only browsers run or draw. */
const noContent = 'nav footer form button select textarea svg iframe noscript script style template object embed video audio'

serveRequests(({ html, url }: { readonly html: string; readonly url: string }) => {
  let title: string | undefined
  const markdown = htmlToMarkdown(html, {
    origin: url,
    clean: true,
    plugins: {
      filter: { exclude: noContent.split(' ') },
      extraction: { title: ({ textContent }) => (title ??= textContent) },
    },
  })
  return { markdown, title: title ?? '' }
})
