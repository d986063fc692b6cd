" Search with dirindex from Vim: the hits go into the quickfix list.
"   :Dirindex how are keys rotated     passages by meaning and by words, best first
"   :Dirgrep rotate_keys               every line that matches, as with ripgrep

if exists('g:loaded_dirindex')
  finish
endif
let g:loaded_dirindex = 1

function! s:Fill(title, arguments) abort
  let l:command = 'dirindex ' . join(map(copy(a:arguments), 'shellescape(v:val)'))
  let l:lines = filter(systemlist(l:command . ' 2>/dev/null'), 'v:val =~# ''^.\{-}:\d\+[:-]''')
  call setqflist([], ' ', {'title': a:title, 'lines': l:lines, 'efm': '%f:%l:%m'})
  if empty(l:lines)
    echo 'dirindex: nothing found'
  else
    copen
    cfirst
  endif
endfunction

command! -nargs=+ Dirindex call s:Fill('dirindex ' . <q-args>, ['search', '--quiet', '--format', 'grep', '--', <q-args>])
command! -nargs=+ Dirgrep call s:Fill('dirindex grep ' . <q-args>, ['grep', '-n', '--', <q-args>])
