import { useRef, useState } from 'preact/hooks'
import { describe } from '../../api/client.ts'
import { address, go, linkTo } from '../../frame/router.ts'
import { chatTexts } from '../../texts/chat.ts'
import { Button, IconButton } from '../../ui/button.tsx'
import { Confirm } from '../../ui/dialog.tsx'
import { plainName } from '../../ui/names.ts'
import { formatTime, fullTime } from '../../ui/numbers.ts'
import { say } from '../../ui/said.tsx'
import { running, stopAnswers } from './answers.ts'
import { type Conversation, countOf, foldersOf } from './conversation.ts'
import { ConversationDialog } from './conversation-dialog.tsx'
import { exportTo } from './export.ts'
import { conversations, discard, take } from './library.ts'

/** The conversations of this browser: pinned ones, folders, then the others, each the newest first. */
export function ConversationList({ current, onPick }: { readonly current: readonly string[]; readonly onPick: () => void }) {
  const [leaving, setLeaving] = useState<Conversation | undefined>(undefined)
  const [about, setAbout] = useState<string | undefined>(undefined)
  const file = useRef<HTMLInputElement>(null)
  const words = (address.value.query.filter ?? '').toLowerCase()
  const all = [...(conversations.value?.values() ?? [])].map((each) => each.value).sort((a, b) => b.updatedAtMs - a.updatedAtMs)
  const found = all.filter((each) => words === '' || matches(each, words))
  const runs = new Set([...running.value.values()].map(({ conversation }) => conversation.peek().id))
  const subject = about === undefined ? undefined : conversations.value?.get(about)
  const importFile = async (chosen: File | undefined) => {
    if (chosen === undefined) return
    try {
      const { readFile } = await import('./formats/read-file.ts')
      const imported = await readFile(chosen)
      await take(imported)
      say(chatTexts.imported(imported.length))
    } catch (error) {
      say(describe(error))
    }
  }
  const rows = (some: readonly Conversation[]) =>
    some.length > 0 && (
      <ul>
        {some.map((each) => (
          <li key={each.id}>
            <a
              href={linkTo('chat', [each.id])}
              class="conversation"
              aria-current={current.includes(each.id) ? 'true' : undefined}
              onClick={onPick}
            >
              <span class="clip">{plainName(each.title) || chatTexts.untitled}</span>
              <span class="small muted" title={fullTime(each.updatedAtMs)}>
                {each.isPinned === true && `${chatTexts.pinned} · `}
                {runs.has(each.id) ? 'running' : formatTime(each.updatedAtMs, Date.now())}
              </span>
            </a>
            <span class="conversation-acts">
              <IconButton
                icon="more"
                name={chatTexts.about.of(each.title)}
                title={chatTexts.about.title}
                onClick={() => setAbout(each.id)}
              />
              <IconButton
                icon="trash"
                name={chatTexts.deleteOf(each.title)}
                title={chatTexts.delete}
                onClick={() => setLeaving(each)}
              />
            </span>
          </li>
        ))}
      </ul>
    )
  return (
    <section class="conversations" aria-label={chatTexts.list}>
      <div class="conversations-room">
        {rows(found.filter((each) => each.isPinned === true))}
        {foldersOf(found).map((name) => {
          const inside = found.filter(({ folder, isPinned }) => folder === name && isPinned !== true)
          return (
            inside.length > 0 && (
              <details key={name} class="folder" open={words !== '' || inside.some(({ id }) => current.includes(id))}>
                <summary>{chatTexts.folder(name, inside.length)}</summary>
                {rows(inside)}
              </details>
            )
          )
        })}
        {rows(found.filter(({ folder, isPinned }) => folder === undefined && isPinned !== true))}
      </div>
      {found.length === 0 && (
        <p class="muted small conversations-none">{all.length === 0 ? chatTexts.none : chatTexts.noneFound}</p>
      )}
      <div class="conversations-end">
        <Button kind="plain" onClick={() => file.current?.click()}>
          {chatTexts.import}
        </Button>
        <Button kind="plain" disabled={all.length === 0} onClick={() => void exportTo('json', all)}>
          {chatTexts.exportAll}
        </Button>
        <input
          ref={file}
          type="file"
          accept=".json,.zip,application/json,application/zip"
          class="unseen"
          tabIndex={-1}
          aria-label={chatTexts.import}
          onChange={(event) => {
            void importFile(event.currentTarget.files?.[0])
            event.currentTarget.value = ''
          }}
        />
      </div>
      {subject !== undefined && <ConversationDialog conversation={subject} onClose={() => setAbout(undefined)} />}
      {leaving !== undefined && (
        <Confirm
          title={chatTexts.deleteTitle}
          action={chatTexts.delete}
          onClose={() => setLeaving(undefined)}
          onConfirm={() => {
            stopAnswers([leaving.id])
            void discard(leaving.id)
            if (current.includes(leaving.id)) go(linkTo('chat'))
          }}
        >
          <p>{chatTexts.deleteWhat(leaving.title, countOf(leaving))}</p>
        </Confirm>
      )}
    </section>
  )
}

function matches({ title, folder = '', messages }: Conversation, words: string): boolean {
  return (
    [title, folder].some((each) => each.toLowerCase().includes(words)) ||
    Object.values(messages).some(({ text }) => text.toLowerCase().includes(words))
  )
}
